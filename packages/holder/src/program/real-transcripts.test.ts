import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type AgentFamily, Sight } from "@rouse/contract";
import { joinEyes, readHook, readSessionLine, startJoining, startStream } from "@rouse/core";
import { describe, expect, it } from "vitest";

/** What real programs kept of their conversations, beside the checkout or further up. */
function findRecordings(from: string): string {
  const folder = join(from, "shared/real-agents/recordings/transcripts");
  return existsSync(folder) || from === dirname(from) ? folder : findRecordings(dirname(from));
}
const recordings = findRecordings(import.meta.dirname);
const there = existsSync(recordings);
if (!there) process.stderr.write(`${recordings} IS NOT THERE: the session files of real programs are not read.\n`);

const clock = { now: Date.UTC(2026, 10, 16, 15), utcOffset: 0 };
const linesOf = (file: string): string[] => readFileSync(join(recordings, file), "utf8").split("\n").filter(Boolean);

function read(family: AgentFamily, file: string): Sight[] {
  let state = startStream();
  return linesOf(file).flatMap((line) => {
    const step = readSessionLine(family, state, line, clock, 0);
    state = step.state;
    return step.sights.map((sight) => Sight.parse(sight));
  });
}

const ofKind = <K extends Sight["kind"]>(sights: readonly Sight[], kind: K) =>
  sights.filter((sight): sight is Extract<Sight, { kind: K }> => sight.kind === kind);

describe.skipIf(!there)("the session files of real programs", () => {
  it.each([
    ["claude-code", "claude-2.1.325-tui-loop.jsonl"],
    ["codex", "codex-0.166.0-tui-loop-rollout.jsonl"],
  ] as const)("of %s in a loop show the same call with the same result again and again", (family, file) => {
    const sights = read(family, file);
    const calls = ofKind(sights, "tool-started");
    const results = ofKind(sights, "tool-ended");
    expect(calls.length).toBeGreaterThan(30);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    expect(new Set(calls.map(({ argsDigest }) => argsDigest)).size).toBe(1);
    expect(Math.abs(results.length - calls.length)).toBeLessThanOrEqual(1);
    expect(new Set(results.map(({ resultDigest }) => resultDigest)).size).toBe(1);
    expect(results.every(({ failed }) => failed)).toBe(true);
    expect(ofKind(sights, "session")).toHaveLength(1);
  });

  it.each([
    ["claude-code", "claude-2.1.325-tui-normal.jsonl", 3],
    ["codex", "codex-0.166.0-tui-normal-rollout.jsonl", 3],
  ] as const)("of %s at work show its calls, words, tokens and the end of its turn", (family, file, words) => {
    const sights = read(family, file);
    const calls = ofKind(sights, "tool-started");
    expect(calls).toHaveLength(4);
    expect(ofKind(sights, "tool-ended").map(({ id, failed }) => [id, failed])).toEqual(
      calls.map(({ id }) => [id, false]),
    );
    expect(ofKind(sights, "said")).toHaveLength(words);
    expect(ofKind(sights, "tokens").at(-1)?.total).toBeGreaterThan(5000);
    expect(ofKind(sights, "turn-ended")).toMatchObject([{ outcome: "success" }]);
    expect(sights.at(-1)?.kind).toBe("turn-ended");
  });
});

describe.skipIf(!there)("the hooks of a real Claude Code", () => {
  /** Three conversations were written into one file. */
  function hooksOf(run: string): Sight[] {
    let state = startStream();
    const lines = linesOf("claude-2.1.325-http-hooks.jsonl").filter((line) => line.includes(`proj/${run}`));
    return lines.flatMap((line) => {
      const step = readHook(state, line, clock);
      state = step.state;
      return step.sights;
    });
  }

  it("show a loop until it was nudged, and the end of the turn", () => {
    const sights = hooksOf("hk-heed");
    expect(new Set(ofKind(sights, "tool-started").map(({ argsDigest }) => argsDigest)).size).toBe(1);
    expect(new Set(ofKind(sights, "tool-ended").map(({ resultDigest }) => resultDigest)).size).toBe(1);
    expect(ofKind(sights, "tool-ended")).toHaveLength(5);
    expect(sights.at(-1)).toMatchObject({ kind: "turn-ended", outcome: "success" });
  });

  it("show a permission that is asked for, once, and a provider that is overloaded", () => {
    expect(ofKind(hooksOf("hk-ask"), "asks")).toMatchObject([{ what: "permission" }]);
    expect(ofKind(hooksOf("hk-over"), "turn-ended")).toMatchObject([{ outcome: "failure", reason: "server_error" }]);
  });

  it("give a call and its result the digests that the file of the same conversation gives them", () => {
    const hooks = hooksOf("hk-heed");
    const file = read("claude-code", "claude-2.1.325-tui-loop.jsonl");
    const firstOf = (sights: readonly Sight[]) => [
      ofKind(sights, "tool-started")[0]?.argsDigest,
      ofKind(sights, "tool-ended")[0]?.resultDigest,
    ];
    expect(firstOf(hooks)).toEqual(firstOf(file));
    expect(joinEyes(startJoining(), "hooks", hooks).sights).toHaveLength(hooks.length);
  });
});
