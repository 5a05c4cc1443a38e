import { policyFrom, settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import type { Recording } from "./find-recordings.ts";
import { collectProblems } from "./note-problems.ts";
import { busy, jsonLines, looping, recordingOf, step } from "./recorded.test-support.ts";
import { replayRecordings } from "./replay-recordings.ts";

const policy = policyFrom("default", settingsOf("default"));

async function replay(...recordings: Recording[]) {
  const problems = collectProblems();
  const runs = await replayRecordings({ recordings, policies: [() => policy], problems, sketches: false });
  const judged = runs.map(({ trace, judged: [run] }) => `${trace} ${run?.verdict} ${run?.index}`);
  return { judged, told: problems.describe(), faults: problems.faults(), runs };
}

const file = (lines: readonly unknown[], name = "a.jsonl") => recordingOf(name, jsonLines(lines));

describe("replaying recordings", () => {
  it("tells runs apart that are mixed in one file", async () => {
    const mixed = looping("loop").flatMap((line, i) => [line, ...busy("work").slice(i, i + 1)]);
    expect(await replay(file(mixed))).toMatchObject({
      judged: ["loop stuck 9", "work healthy null"],
      told: [],
      faults: 0,
    });
  });

  it("puts runs together that are spread over files", async () => {
    const lines = looping("loop");
    const { judged } = await replay(file(lines.slice(0, 7)), file(lines.slice(7), "b.jsonl"));
    expect(judged).toEqual(["loop stuck 9"]);
  });

  it("names every bad line with file and line, and judges the rest", async () => {
    const bad = ["{broken", '{"kind":"message"}', '{"trace":"loop","kind":"dance"}', "", "7"];
    const text = looping("loop").map(
      (line, i) => `${JSON.stringify(line)}\n${bad[i] === undefined ? "" : `${bad[i]}\n`}`,
    );
    const { judged, told, faults } = await replay(recordingOf("a.jsonl", text.join("")));
    expect(judged).toEqual(["loop stuck 9"]);
    expect(told.map((one) => one.split(" ")[0])).toEqual(["a.jsonl:2:", "a.jsonl:4:", "a.jsonl:6:", "a.jsonl:10:"]);
    expect(faults).toBe(4);
  });

  it("leaves out a line that is too long and says how long it was", async () => {
    const long = JSON.stringify({ trace: "loop", kind: "message", text: "x".repeat(5_000_000) });
    const { judged, told } = await replay(recordingOf("a.jsonl", `${long}\n${jsonLines(looping("loop"))}`));
    expect(judged).toEqual(["loop stuck 9"]);
    expect(told).toEqual([expect.stringMatching(/^a\.jsonl:1: is 5,000,0\d\d bytes long/)]);
  });

  it("says when time runs backwards, but two seconds are no more than clocks differ", async () => {
    const at = (seconds: number) => step("a", `c${seconds}`, `r${seconds}`, { at: seconds });
    const { told, judged } = await replay(file([...at(100), ...at(98.5), ...at(50), ...at(101)]));
    expect(told).toEqual(["a.jsonl:5: at: 50 comes after 98.5, time runs backwards; it stands still instead"]);
    expect(judged).toEqual(["a healthy null"]);
  });

  it("does not wait for a clock that leaps by years", async () => {
    const { told, faults } = await replay(file(busy("a").map((line, i) => ({ ...line, at: i === 5 ? 1e300 : i }))));
    expect(told).toEqual(["a.jsonl:6: at: 1e+300 is more than a year after 4; taken as not recorded"]);
    expect(faults).toBe(1);
  });

  it("notes an empty file, and a run without results, which are no faults", async () => {
    const calls = busy("a/b").filter(({ kind }) => kind === "tool_call");
    const { told, faults } = await replay(recordingOf("e.jsonl", "\n \n"), file([...busy("c"), ...calls]));
    expect(told).toEqual([
      "e.jsonl: is empty: there is nothing to replay",
      "a.jsonl:25: the run a/b has 12 calls but no results: little can be said about it",
    ]);
    expect(faults).toBe(0);
  });

  it("goes on when a file cannot be read to its end", async () => {
    async function* failing() {
      yield Buffer.from(jsonLines(looping("loop")));
      throw Object.assign(new Error("disk"), { code: "EIO" });
    }
    const broken = { name: "b.jsonl", identity: "b", bytes: null, open: failing };
    const { judged, told, faults } = await replay(broken, file(busy("work")));
    expect(judged).toEqual(["loop stuck 9", "work healthy null"]);
    expect({ told, faults }).toEqual({ told: ["b.jsonl: could not be read: EIO"], faults: 1 });
  });

  it("judges by several policies side by side", async () => {
    const settings = settingsOf("default");
    const loops = { ...settings.loops, identical_step: { enabled: true, suspect: 2, stuck: 3 } };
    const strict = policyFrom("strict", { ...settings, loops });
    const problems = collectProblems();
    const options = { recordings: [file(looping("a"))], problems, sketches: false };
    const [run] = await replayRecordings({ ...options, policies: [() => policy, () => strict] });
    expect(run?.judged.map(({ index }) => index)).toEqual([9, 5]);
  });
});

describe("problems", () => {
  it("are told up to twenty, then counted by kind", async () => {
    const { told, faults } = await replay(
      recordingOf("a.jsonl", `${"nope\n".repeat(30)}${'{"trace":"a"}\n'.repeat(3)}`),
    );
    expect(told).toHaveLength(21);
    expect(told.at(-1)).toBe("and more that are not shown: 10 lines that are not JSON, 3 lines without a kind");
    expect(faults).toBe(33);
  });
});
