import type { ProcessFacts, Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { kindsOfEvidence } from "../decide/evidence.ts";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";

const tool = (timeoutSeconds: number | null): Sight => ({
  kind: "tool-started",
  id: "t1",
  name: "fetch",
  argsDigest: "a",
  timeoutSeconds,
});
const asked: Sight = { kind: "model-asked" };

/** A stream agent of a known program at the start of the call that it hangs in. */
function begins(sight: Sight, facts: Partial<ProcessFacts> = {}): HeldStory {
  const held = heldStory({ hold: { family: "claude-code", structured: true }, settings: { mode: "observe" } });
  held.processesShow(facts);
  held.shows(sight);
  return held;
}

const overdue = ({ agent }: HeldStory) => agent.finding("overdue-call");

describe("a request to the model", () => {
  it("is overdue when its program should have given it up and not a byte came, and that is two kinds of evidence", () => {
    const held = begins(asked);
    held.passes("11m");
    expect(overdue(held)).toMatchObject({ level: "stuck", class: "overdue" });
    expect(held.agent.past[0]).toBe("660s STUCK");
    expect([...kindsOfEvidence(held.agent.record, held.agent.context)].toSorted()).toEqual(["absence", "overdue"]);
  });

  it("is not while bytes come now and then, however long it takes", () => {
    const held = begins(asked);
    for (let i = 1; i < 8; i++) {
      held.passes("9m");
      held.processesShow({ network: { sockets: 1, bytes: i } });
    }
    expect(overdue(held)).toBeUndefined();
  });

  it("is not where nobody can look at its sockets, nor while its processes compute, nor while lines come", () => {
    const unseen = begins(asked, { network: null });
    unseen.passes("2h");
    const busy = begins(asked);
    busy.processesAre("busy");
    busy.passes("2h");
    const writes = begins(asked);
    for (let i = 0; i < 12; i++) {
      writes.passes("10m");
      writes.shows({ kind: "tokens", total: i });
    }
    for (const held of [unseen, busy, writes]) expect(overdue(held)).toBeUndefined();
  });

  it("is not any more when nobody can look at its processes", () => {
    const held = begins(asked);
    held.passes("11m");
    held.processesAre("unknown");
    held.passes("5m");
    expect(overdue(held)).toBeUndefined();
  });

  it("is not any more when its holder is lost: an answer that comes now is seen by nobody", () => {
    const held = begins(asked);
    held.passes("11m");
    expect(overdue(held)).toBeDefined();
    held.holderIsLost("alive");
    held.agent.silentFor("5m");
    expect(overdue(held)).toBeUndefined();
  });

  it("is not where its answer may come another way: by no socket that is counted, or in bytes that only its reads show", () => {
    const noSocket = begins(asked, { network: { sockets: 0, bytes: 0 } });
    noSocket.passes("2h");
    const locally = begins(asked);
    for (let i = 1; i < 90; i++) {
      locally.processesShow({ ioBytes: 1000 + i * 24_000 });
      locally.passes("10s");
    }
    for (const held of [noSocket, locally]) expect(overdue(held)).toBeUndefined();
  });

  it("is not when the last look at its sockets is older than its time", () => {
    const held = begins(asked);
    held.passes("10m");
    held.processesAre("unknown");
    held.passes("1m");
    expect(overdue(held)).toBeUndefined();
  });

  it("of a program nobody knows is never, unless its owner says for how long", () => {
    const unknown = heldStory({ hold: { structured: true } });
    unknown.shows(asked);
    unknown.passes("3h");
    expect(overdue(unknown)).toBeUndefined();
    const said = heldStory({ hold: { structured: true }, settings: { activity: { model_request_seconds: 120 } } });
    said.shows(asked);
    said.passes("3m");
    expect(overdue(said)).toBeDefined();
  });
});

describe("a tool", () => {
  it("is overdue a minute after the time-out it declared", () => {
    const held = begins(tool(1800));
    held.passes("30m");
    expect(overdue(held)).toBeUndefined();
    held.passes("1m");
    expect(overdue(held)).toMatchObject({ level: "stuck" });
  });

  it("that declared a short time-out is given the ten minutes of any other", () => {
    const held = begins(tool(30));
    held.passes("9m");
    expect(overdue(held)).toBeUndefined();
    held.passes("1m");
    expect(overdue(held)).toBeDefined();
  });

  it("that declared none is never", () => {
    const held = begins(tool(null));
    held.passes("5h");
    expect(overdue(held)).toBeUndefined();
  });

  it("that runs as a child is never, for as long as the child lives; children from before it are not it", () => {
    const runs = begins(tool(1800));
    runs.processesShow({ processes: 2, youngestChildAt: runs.agent.now + 1000 });
    runs.passes("5h");
    expect(overdue(runs)).toBeUndefined();
    const older = begins(tool(1800), { processes: 2, youngestChildAt: 0 });
    older.passes("31m");
    expect(overdue(older)).toBeDefined();
  });

  it("is the child that began with it, although it was heard of late, a call beside it ended, or it was asked about", () => {
    const known = { hold: { family: "claude-code", structured: true }, settings: { mode: "observe" } } as const;
    const late = heldStory(known);
    const begun = late.agent.now - 20 * 60_000;
    late.report([tool(300)], {}, 20 * 60_000);
    late.processesShow({ processes: 2, youngestChildAt: begun });
    const beside = begins(tool(300));
    beside.processesShow({ processes: 2, youngestChildAt: beside.agent.now });
    const asked = begins(tool(300));
    asked.processesShow({ processes: 2, youngestChildAt: asked.agent.now });
    for (const held of [beside, asked]) held.passes("5m");
    beside.shows({ ...tool(60), id: "t2" } as Sight);
    beside.shows({ kind: "tool-ended", id: "t2", failed: false, resultDigest: "r" });
    asked.shows({ kind: "asks", what: "permission", pattern: "p" });
    asked.shows({ kind: "asks-no-more" });
    for (const held of [late, beside, asked]) {
      held.passes("2h");
      expect(overdue(held)).toBeUndefined();
    }
  });
});
