import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type Client, until } from "../holding.test-support.ts";
import { makeClaude } from "./make-claude.test-support.ts";
import { eyeOf, nudge, ofKind, reportsOf, type Workplace, workplaceOfEach } from "./watched-program.test-support.ts";

let place: Workplace;
workplaceOfEach((fresh) => {
  place = fresh;
});

const startClaude = (...args: string[]): Promise<Client> =>
  place.start([process.execPath, makeClaude(place.home), ...args], { family: "claude-code" });

function contain(client: Client, how: "pause" | "let-go", decidedAt: number) {
  const order = { kind: "contain", how, reason: "handed over", decidedAt, lastsMs: 60_000 } as const;
  client.say({ say: "order", key: how, incarnation: 1, epoch: 1, order });
  return client.hear("carried-out", (message) => message.key === how);
}

/** How many calls were over when the next was held. */
async function holdCalls(client: Client): Promise<number> {
  expect((await contain(client, "pause", 1)).outcome).toEqual({ kind: "contained" });
  let ended = -1;
  let since = Date.now();
  // A call that nobody holds takes milliseconds.
  await until(() => {
    const now = ofKind(client, "tool-ended").length;
    if (now !== ended) since = Date.now();
    ended = now;
    return Date.now() - since > 1000;
  }, "a call is held");
  return ended;
}

describe("a holder of Claude Code", () => {
  it("sees every call once through two eyes, gives a nudge by a hook, and sees it read", async () => {
    const client = await startClaude();
    await until(() => ofKind(client, "tool-ended").length >= 60, "calls are seen");
    await until(() => eyeOf(client, "session-file")?.sees === true, "its file is followed");
    expect(eyeOf(client, "hooks")).toEqual({ eye: "hooks", sees: true, because: null });
    expect(eyeOf(client, "stream")).toEqual({ eye: "stream", sees: false, because: "not asked for" });
    expect(reportsOf(client).at(-1)?.input).toBe("hook");
    expect((await nudge(client)).outcome).toEqual({ kind: "sent", channel: "hook", echoed: false });
    await client.hear("report", ({ report }) => report.exit !== null);
    expect(ofKind(client, "nudge-read").map(({ nudge }) => nudge)).toContain("n1");
    const calls = ofKind(client, "tool-started").map(({ id }) => id);
    expect(new Set(calls).size).toBe(calls.length);
    expect(ofKind(client, "tool-ended").map(({ id }) => id)).toEqual(calls);
    expect(ofKind(client, "turn-ended")).toHaveLength(1);
    expect(ofKind(client, "said")).toHaveLength(1);
    const hooks = join(place.files().plugin, "hooks/hooks.json");
    expect(JSON.parse(readFileSync(hooks, "utf8"))).toEqual({ hooks: {} });
    // Each was told in its time: whatever is put off by what follows comes in one heap.
    const heaps = reportsOf(client).map(({ sights }) => sights.length);
    expect(Math.max(...heaps)).toBeLessThan(0.75 * heaps.reduce((sum, one) => sum + one, 0));
  });

  it("knows the conversation that it has after a person cleared the one before, though nobody has spoken to it since", async () => {
    const client = await startClaude("clear");
    await until(() => ofKind(client, "session").length === 2, "the new conversation is told");
    const [before, after] = ofKind(client, "session").map(({ id }) => id);
    expect(after).not.toBe(before);
    const project = place.cwd.replace(/[^A-Za-z0-9]/g, "-");
    const kept = readFileSync(join(place.home, ".claude/projects", project, `${after}.jsonl`), "utf8");
    expect(kept).toContain("<command-name>/clear</command-name>");
    expect(eyeOf(client, "hooks")?.sees).toBe(true);
  });

  it("holds its calls while its tools are withheld, and lets the call that waits go on when it is let go", async () => {
    const client = await startClaude("-p", "x");
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    const ended = await holdCalls(client);
    expect((await contain(client, "let-go", 2)).outcome).toEqual({ kind: "let-go" });
    await until(() => ofKind(client, "tool-ended").length > ended + 3, "its calls go on");
  });

  it("does not give a nudge that was withdrawn while it waited for a hook", async () => {
    const client = await startClaude("-p", "x");
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    const ended = await holdCalls(client);
    void nudge(client);
    const { outcome } = await nudge(client, undefined, 0);
    expect(outcome).toEqual({ kind: "not-sent", because: "expired" });
    await contain(client, "let-go", 2);
    // It ends as soon as words come to it.
    await until(() => ofKind(client, "tool-ended").length > ended + 3, "its calls go on");
  });

  /** How many calls a sub-agent has made. */
  const helped = (): number => {
    const file = join(place.cwd, "helped");
    return existsSync(file) ? statSync(file).size : 0;
  };

  it("says to the agent itself what it has to say, not to a sub-agent whose hooks come first", async () => {
    const client = await startClaude("-p", "x", "helper");
    await until(() => helped() > 0, "the sub-agent works");
    const delivery = nudge(client);
    client.say({ say: "probe", id: 1 });
    await client.hear("here");
    const before = helped();
    await until(() => helped() >= before + 3, "hooks of the sub-agent came and went");
    writeFileSync(join(place.cwd, "done"), "");
    expect((await delivery).outcome).toEqual({ kind: "sent", channel: "hook", echoed: false });
    const { report } = await client.hear("report", ({ report }) => report.exit !== null);
    expect(report.exit?.code).toBe(0);
  });

  it("does not believe its tools, which know its token, and hears it all the same", async () => {
    const client = await startClaude("lying-tool");
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    const answers = (): string[] => {
      const file = join(place.cwd, "answers");
      return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
    };
    const says = (lie: object) => writeFileSync(join(place.cwd, "lie"), JSON.stringify(lie));
    says({ hook_event_name: "StopFailure", error: "rate_limit", last_assistant_message: "resets in 5 hours" });
    await until(() => answers().length >= 3, "its tool tells of a limit");
    says({ hook_event_name: "PostToolBatch", tool_calls: [] });
    const asked = answers().length;
    await until(() => answers().length >= asked + 3, "its tool asks for words");
    expect((await nudge(client)).outcome).toEqual({ kind: "sent", channel: "hook", echoed: false });
    // The program itself has them: it ends then.
    await until(() => ofKind(client, "said").length > 0, "it has the words");
    writeFileSync(join(place.cwd, "stop"), "");
    expect(new Set(answers())).toEqual(new Set(["403 "]));
    expect([...ofKind(client, "rate-limited"), ...ofKind(client, "error")]).toEqual([]);
    expect(eyeOf(client, "hooks")).toEqual({ eye: "hooks", sees: true, because: null });
  });

  it("does not wait for its hooks once its turn is over, although a sub-agent's hooks go on", async () => {
    const client = await startClaude("helper-goes-on");
    await until(() => ofKind(client, "turn-ended").length > 0 && helped() >= 3, "only the sub-agent works");
    // This one shows no input that could be typed into.
    expect((await nudge(client)).outcome).toEqual({ kind: "not-sent", because: "no-input" });
  });

  it("types into it once its screen shows that its turn was broken off, which no hook tells", async () => {
    const client = await startClaude("broken-off");
    await client.hear("report", ({ report }) => report.input === "hook");
    const rests = (sight: Sight): boolean => sight.kind === "asks" && sight.what === "prompt";
    const { report } = await client.hear("report", ({ report }) => report.sights.some(rests));
    expect(report.input).toBe("terminal");
  });

  it("sees it by its file alone where it runs no hooks, and says why", async () => {
    const client = await startClaude("--bare");
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    expect(eyeOf(client, "hooks")).toEqual({ eye: "hooks", sees: false, because: "it is started with --bare" });
    expect(reportsOf(client).at(-1)?.input).toBe("terminal");
  });
});
