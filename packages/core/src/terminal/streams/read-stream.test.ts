import { type AgentFamily, agentFamilies, Sight } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { longestRead } from "./read-fields.ts";
import { readStreamLine, type StreamState, startStream } from "./read-stream.ts";
import { claudeLines, codexLines, geminiLines } from "./recorded-streams.test-support.ts";

const clock = { now: 1_800_000_000_000, utcOffset: 120 };
const recorded = [...claudeLines, ...codexLines, ...geminiLines];
const readable: readonly AgentFamily[] = ["claude-code", "codex", "gemini-cli"];

/** Reads all lines with one state and returns the sights; throws if a sight breaks the contract or the state grows. */
function readSoundly(family: AgentFamily, lines: readonly string[], state: StreamState = startStream()): Sight[] {
  const sights: Sight[] = [];
  for (const line of lines) {
    const step = readStreamLine(family, state, line, clock);
    for (const sight of step.sights) sights.push(Sight.parse(sight));
    state = step.state;
  }
  expect(state.tools.length).toBeLessThanOrEqual(64);
  expect(state.counted.length).toBeLessThanOrEqual(64);
  expect(state.saying.length).toBeLessThanOrEqual(20_000);
  return sights;
}

/** Any JSON, with the keys, names and numbers that trip readers. */
const anyJson = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false, -1, 0.5, 1e308, 2 ** 53, "", "\ud800", "\u001b[2J", "x".repeat(300), "tool_use"),
    fc.double({ noNaN: true }),
    fc.string({ unit: "binary" }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("__proto__", "constructor", "toJSON", "type", "id", "content"), tie("value")),
  ),
})).value;

/** A recorded line in which some field, however deep, is replaced by something else. */
const mutatedLine = fc
  .tuple(fc.constantFrom(...recorded), fc.array(fc.tuple(fc.nat(), anyJson), { maxLength: 4 }))
  .map(([line, changes]) => {
    const copy = structuredClone(line);
    for (const [pick, value] of changes) {
      const places = placesIn(copy);
      const place = places[pick % places.length];
      if (place) place.holder[place.key] = value;
    }
    return JSON.stringify(copy);
  });

type Place = { holder: Record<string, unknown>; key: string };
const placesIn = (value: unknown): Place[] =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([key, inner]) => [
        { holder: value as Record<string, unknown>, key },
        ...placesIn(inner),
      ]);

// Many cases, which take a while on a busy machine.
describe("a stream", { timeout: 60_000 }, () => {
  it("may hold any JSON without breaking its reader or the contract", () => {
    fc.assert(
      fc.property(fc.constantFrom(...readable), fc.array(mutatedLine, { maxLength: 8 }), (family, lines) => {
        readSoundly(family, lines);
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.constantFrom(...agentFamilies), anyJson, (family, value) => {
        readSoundly(family, [JSON.stringify(value) ?? "", JSON.stringify({ type: "assistant", message: value })]);
      }),
      { numRuns: 500 },
    );
  });

  it("may be cut anywhere, and half a line says nothing", () => {
    fc.assert(
      fc.property(fc.constantFrom(...readable), fc.constantFrom(...recorded), fc.nat(), (family, line, cut) => {
        const text = JSON.stringify(line);
        expect(readSoundly(family, [text.slice(0, cut % text.length)])).toEqual([]);
        expect(readSoundly(family, [text.slice(1 + (cut % text.length))])).toEqual([]);
      }),
    );
  });

  it("says nothing in lines that are not its own", () => {
    for (const line of ["", " ", "npm warn deprecated", "{", "null", "[]", '"result"', "{}", '{"type":{}}', "{'a':1}"])
      for (const family of agentFamilies) expect(readSoundly(family, [line]), line).toEqual([]);
    expect(
      readSoundly(
        "generic",
        recorded.map((line) => JSON.stringify(line)),
      ),
    ).toEqual([]);
    expect(
      readSoundly(
        "aider",
        recorded.map((line) => JSON.stringify(line)),
      ),
    ).toEqual([]);
  });

  it("is read with the carriage returns that a terminal adds", () => {
    expect(readSoundly("codex", ['  {"type":"turn.started"}\r'])).toEqual([{ kind: "model-asked" }]);
  });

  it("is not read where a line is longer than any that matters", () => {
    const said = (length: number) => {
      const line = (content: string) => JSON.stringify({ type: "message", role: "assistant", content });
      return line("x".repeat(length - line("").length));
    };
    expect(readSoundly("gemini-cli", [said(longestRead)])).toHaveLength(1);
    expect(readSoundly("gemini-cli", [said(longestRead + 1)])).toEqual([]);
    expect(readSoundly("gemini-cli", [said(10 * 1024 * 1024)])).toEqual([]);
  });

  it("may nest as deep as a line is long", () => {
    const deep = `${'{"a":['.repeat(200_000)}${"]}".repeat(200_000)}`;
    const line = `{"type":"tool_use","tool_id":"1","tool_name":"x","parameters":${deep}}`;
    expect(readSoundly("gemini-cli", [line]).map(({ kind }) => kind)).toEqual(["tool-started"]);
  });

  it("cannot reach what objects inherit", () => {
    const line = '{"__proto__":{"type":"turn.started"},"constructor":{"prototype":{"polluted":true}}}';
    expect(readSoundly("codex", [line])).toEqual([]);
    expect("polluted" in {}).toBe(false);
  });

  it("names nothing that could harm a terminal, and nothing at length", () => {
    const id = `\u001b]0;x\u0007\u202e\ud800${"i".repeat(500)}`;
    const [started, ended] = readSoundly("gemini-cli", [
      JSON.stringify({ type: "tool_use", tool_id: id, tool_name: "a\nb\u0000c" }),
      JSON.stringify({ type: "tool_result", tool_id: id, status: "success" }),
    ]);
    expect(started).toMatchObject({ name: "a b\ufffdc" });
    if (started?.kind !== "tool-started" || ended?.kind !== "tool-ended") throw new Error("no tool was seen");
    expect(started.id).toMatch(/^\ufffd\]0;x\ufffd{3}i+…$/);
    expect(started.id).toHaveLength(200);
    expect(ended.id).toBe(started.id);
  });

  it("counts no tokens that are no numbers of tokens", () => {
    const usage = (text: string) => `{"type":"turn.completed","usage":{"input_tokens":${text},"output_tokens":2}}`;
    const totals = readSoundly("codex", ["1e999", "-5", '"7"', "0.5", "9007199254740991", "9"].map(usage))
      .filter((sight) => sight.kind === "tokens")
      .map(({ total }) => total);
    expect(totals).toEqual([2, 4, 6, 8, Number.MAX_SAFE_INTEGER]);
  });

  it("tells of no more than 64 things that one line lists", () => {
    const content = Array.from({ length: 5000 }, (_, n) => ({ type: "tool_use", id: `t${n}`, name: "Read" }));
    expect(readSoundly("claude-code", [JSON.stringify({ type: "assistant", message: { content } })])).toHaveLength(64);
  });
});
