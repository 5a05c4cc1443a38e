import type { AgentHealth, TerminalReport } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { paintLine } from "../text/styled-text.ts";
import { describeDoing } from "./agents.ts";
import { describeEyes, describeSince, healthDocument, showHealth } from "./health.ts";
import { healthy, heldFor, now } from "./sample.test-support.ts";

it("a person is told by which eyes an agent is seen, and why not by the others", () => {
  expect(
    describeEyes([
      { eye: "stream", sees: false, because: "not asked for" },
      { eye: "hooks", sees: true, because: null },
      { eye: "session-file", sees: true, because: null },
      { eye: "screen", sees: false, because: null },
    ]),
  ).toBe("hooks, session file; not by: stream (not asked for), screen (unknown)");
  expect(describeEyes([{ eye: "screen", sees: true, because: null }])).toBe("screen");
  expect(describeEyes([{ eye: "hooks", sees: true, because: "its tools could call them as well" }])).toBe(
    "hooks (its tools could call them as well)",
  );
  expect(describeEyes([{ eye: "hooks", sees: false, because: "none heard yet" }])).toBe(
    "nothing; not by: hooks (none heard yet)",
  );
});

it("an agent that is over for good is shown with its end and not with the limit it ended at", () => {
  const exit = { code: 1, signal: null, cause: "by-itself", at: "2026-02-05T10:00:00.000Z" } as const;
  const since = "2026-02-05T08:00:00.000Z";
  const limit = {
    what: "usage",
    by: "stream",
    since,
    until: since,
    named: true,
    attempts: 0,
    continues: false,
  } as const;
  const ended = (changes: Partial<TerminalReport>, kind: "RUNNING" | "FINISHED" = "RUNNING"): AgentHealth => ({
    ...healthy,
    limit,
    activity: { kind, since },
    terminal: { ...heldFor(null), exit, ...changes },
  });
  expect(describeDoing(ended({}), now)).toMatch(/limit/);
  const over = { how: "exited", code: 1, signal: null, at: exit.at } as const;
  const gone = { ...ended({ foreground: true }), over };
  expect(describeDoing(gone, now)).toBe("");
  expect(describeSince(gone, now)).toBe("exited 1 10 min ago (by itself)");
  const left = ended({ foreground: true, leftovers: [{ pid: 7, name: "codex" }] });
  expect(describeDoing(left, now)).toBe("exited 1, left 1 process");
  const coped = ended({ exit: { ...exit, code: 0 }, failedTurn: "rate_limit" }, "FINISHED");
  expect(describeDoing({ ...coped, over: { ...over, how: "finished", code: 0 } }, now)).toBe("");
});

it("tells a script by its state that an agent is over, with the name of a signal as it is", () => {
  const over = { how: "exited", code: null, signal: "SIGKILL", at: "2026-02-05T10:00:00.000Z" } as const;
  expect(healthDocument({ ...healthy, state: "DEGRADED", over })).toMatchObject({
    status: "ended by SIGKILL",
    state: "EXITED",
    over: { ...over, was: "DEGRADED" },
  });
  expect(healthDocument({ ...healthy, over: { ...over, how: "finished" } })).toMatchObject({
    status: "finished",
    state: "FINISHED",
  });
  expect(healthDocument(healthy)).toMatchObject({ status: "healthy", state: "HEALTHY", over: null });
});

describe("the status of an agent whose process ended and left others running", () => {
  const status = (changes: Partial<TerminalReport>, state: AgentHealth["state"] = "HEALTHY"): string => {
    const exit = { code: 7, signal: null, cause: "by-itself", at: "2026-02-05T10:00:00.000Z" } as const;
    const terminal = { ...heldFor(null), exit, leftovers: [{ pid: 7, name: "sleep" }], ...changes };
    return healthDocument({ ...healthy, state, terminal }).status;
  };

  it("is how it failed, for a person as well", () => {
    expect(status({})).toBe("exited 7");
    const exit = { code: null, signal: "SIGSEGV", cause: "killed", at: "2026-02-05T10:00:00.000Z" } as const;
    expect(status({ exit })).toBe("ended by SIGSEGV");
    const terminal = { ...heldFor(null), exit, leftovers: [{ pid: 7, name: "sleep" }] };
    const shown = showHealth({ ...healthy, terminal }, now, 100).map((line) => paintLine(line, false));
    expect(shown).toContainEqual(expect.stringMatching(/^status +ended by SIGSEGV$/));
    expect(shown).not.toContainEqual(expect.stringMatching(/^errors/));
  });

  it("is its state where it did not fail, may be started again, or is ill", () => {
    const at = "2026-02-05T10:00:00.000Z";
    expect(status({ exit: { code: 0, signal: null, cause: "by-itself", at } })).toBe("healthy");
    expect(status({ exit: { code: null, signal: "SIGINT", cause: "person", at } })).toBe("healthy");
    expect(status({ completedAt: at })).toBe("healthy");
    expect(status({}, "UNRESPONSIVE")).toBe("unresponsive");
    const exit = { code: 7, signal: null, cause: "by-itself", at } as const;
    const limit = {
      what: "usage",
      by: "stream",
      since: at,
      until: at,
      named: true,
      attempts: 0,
      continues: true,
    } as const;
    const terminal = { ...heldFor(null), exit, leftovers: [{ pid: 7, name: "sleep" }] };
    expect(healthDocument({ ...healthy, limit, terminal }).status).toBe("healthy");
    expect(healthDocument({ ...healthy, limit, terminal: { ...terminal, foreground: true } }).status).toBe("exited 7");
  });
});
