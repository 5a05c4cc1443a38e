import { existsSync, readFileSync } from "node:fs";
import type { AgentFamily, Sight } from "@rouse/contract";
import { expect, it } from "vitest";
import { readStreamLine, startStream } from "./read-stream.ts";

/** Output of the real programs, which is not part of the project. */
const folder = "/work/shared/real-agents/recordings";
const isThere = existsSync(folder);
if (!isThere) process.stderr.write(`${folder} IS NOT THERE: nothing is tested against what real programs printed.\n`);

function read(family: AgentFamily, name: string): Sight[] {
  let state = startStream();
  const clock = { now: Date.UTC(2026, 10, 16, 14), utcOffset: 0 };
  return readFileSync(`${folder}/${name}.jsonl`, "utf8")
    .split("\n")
    .flatMap((line) => {
      const step = readStreamLine(family, state, line, clock);
      state = step.state;
      return step.sights;
    });
}

const endings = (sights: readonly Sight[]) => sights.filter(({ kind }) => kind === "turn-ended");

it.skipIf(!isThere).each([
  ["claude-code", "sj-over", "failure", "api_error 529"],
  ["claude-code", "sj-lim", "failure", "api_error 429"],
  ["claude-code", "oa1", "failure", "api_error 429"],
  ["claude-code", "oa2", "failure", "api_error 429"],
  ["claude-code", "claude-p-streamjson-usage-limit-oauth", "failure", "api_error 429"],
  ["claude-code", "sj-rate", "success", "success"],
  ["gemini-cli", "g-loop", "failure", "loop detected"],
  ["gemini-cli", "g0", "success", "success"],
] as const)("%s, recording %s: its last turn is a %s (%s)", (family, name, outcome, reason) => {
  expect(endings(read(family, name)).at(-1)).toEqual({ kind: "turn-ended", outcome, reason });
});

it.skipIf(!isThere).each(["sj-over", "sj-lim", "oa1", "oa2"])(
  "claude-code, recording %s: what its provider refused is nothing it said, and no error of its own",
  (name) => {
    const texts = ["API Error: ", "You've hit your "];
    const refusals = readFileSync(`${folder}/${name}.jsonl`, "utf8")
      .split("\n")
      .filter((line) => line.includes('"<synthetic>"') && texts.some((text) => line.includes(text)));
    expect(refusals.length).toBeGreaterThan(0);
    const sights = refusals.flatMap(
      (line) => readStreamLine("claude-code", startStream(), line, { now: 0, utcOffset: 0 }).sights,
    );
    expect(new Set(sights.map(({ kind }) => kind))).toEqual(new Set(["rate-limited"]));
  },
);

it.skipIf(!isThere)(
  "opencode, recording o-loop: every call and its failure, one conversation, the tokens of the run",
  () => {
    const sights = read("opencode", "o-loop");
    const ended = sights.flatMap((sight) => (sight.kind === "tool-ended" ? [sight] : []));
    expect(ended).toHaveLength(71);
    expect(new Set(ended.map(({ failed, resultDigest }) => `${failed} ${resultDigest}`)).size).toBe(1);
    expect(ended[0]?.failed).toBe(true);
    expect(sights.filter(({ kind }) => kind === "session")).toEqual([
      { kind: "session", id: "ses_e1b5bfb9dffe8JjM45yH07FdQe", model: null, version: null },
    ]);
    expect(sights.findLast(({ kind }) => kind === "tokens")).toEqual({ kind: "tokens", total: 71 * 1242 });
  },
);
