import { policyFrom, settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import type { Accuracy } from "../measure-labels.ts";
import { measureLabels } from "../measure-labels.ts";
import { collectProblems } from "../note-problems.ts";
import { busy, hostile, jsonLines, looping, type RecordedLine, recordingOf } from "../recorded.test-support.ts";
import { replayRecordings } from "../replay-recordings.ts";
import { writeReport } from "./write-report.ts";

const policy = policyFrom("default", settingsOf("default"));

function sketched(lines: readonly RecordedLine[]) {
  const recordings = [recordingOf("a.jsonl", jsonLines(lines))];
  return replayRecordings({ recordings, policies: [() => policy], problems: collectProblems(), sketches: true });
}

async function reportOf(lines: readonly RecordedLine[], accuracy: Accuracy | null = null, problems: string[] = []) {
  return writeReport({ runs: await sketched(lines), policy: "default", accuracy, problems });
}

const nasty = (trace: string) =>
  looping(trace).map((line) => ({ ...line, tool: hostile, args: hostile, text: hostile, role: hostile.slice(0, 40) }));

describe("a report", () => {
  it("shows the worst run first, with its reason, its timeline and the steps it rests on", async () => {
    const page = await reportOf([...busy("x/fine"), ...looping("x/meh", 3), ...looping("x/bad")]);
    expect(page.indexOf("x/bad")).toBeLessThan(page.indexOf("x/meh"));
    expect(page.indexOf("x/meh")).toBeLessThan(page.indexOf("x/fine"));
    expect(page).toContain("the same call with the same result 5 times");
    const bad = page.slice(page.indexOf("x/bad"), page.indexOf("x/meh"));
    // 16 events; calls alike have one letter, results alike another; five of them are evidence.
    expect(bad.match(/<li class="call a0[^>]*>A<\/li>/g)).toHaveLength(8);
    expect(bad.match(/<li class="result a4[^>]*>a<\/li>/g)).toHaveLength(8);
    expect(bad.match(/<li class="result a4 why"/g)).toHaveLength(5);
    expect(bad).toMatch(/<li class="turn suspect">suspect<\/li>.*<li class="turn stuck">stuck<\/li>/);
    expect(bad).toContain("at event 9: an alert (warning)");
  });

  it("says so when every run is healthy", async () => {
    expect(await reportOf(busy("x/fine"))).toContain("None: every run is healthy.");
    expect(await reportOf([])).toContain("Replay of 0 runs");
  });

  it("lets no text of a trace, a label or a file name become markup", async () => {
    const trace = `${hostile}/run`;
    const runs = nasty(trace);
    const labels = new Map([[trace, { trace, label: "not_stuck" as const, kind: hostile, why: hostile }]]);
    const accuracy = measureLabels(
      (await sketched(runs)).flatMap(({ judged }) => judged),
      labels,
    );
    expect(accuracy.falseAlarms).toHaveLength(1);
    const page = await reportOf(runs, accuracy, [`${hostile}:1: ${hostile}`]);
    expect(page).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(page).not.toMatch(/<script|<img|<\/bdi><script/i);
    expect(page.match(/<\/title>/g)).toHaveLength(1);
    // Quotes are escaped too, so a title attribute cannot be left.
    expect(page).not.toContain("onerror='x'");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(page).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  });

  it("needs nothing from elsewhere and forbids it", async () => {
    const page = await reportOf(nasty("x/bad"));
    expect(page).toMatch(/<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-/);
    expect(page).not.toMatch(/\s(src|href|style|on\w+)="/i);
    expect(page).not.toMatch(/@import|url\(/);
  });

  it("draws the stretch around the verdict of a run that is very long, and says what it left out", async () => {
    const page = await reportOf([...busy("x/long", 2000), ...looping("x/long"), ...busy("x/long", 2000)]);
    expect(page).toContain("event 4009 of 8016");
    expect(page.match(/<li class="(call|result)/g)?.length).toBeLessThan(1000);
    expect(page.match(/ why"/g)?.length).toBeGreaterThanOrEqual(5);
    expect(page).toContain('<li class="turn dim">3410 more</li>');
  });

  it("has the evidence in its own words, wherever in a run it stands", async () => {
    for (const before of [0, 155, 158, 161]) {
      const page = await reportOf([...busy("x/bad", before), ...looping("x/bad")]);
      expect(page.match(/<td class="what">/g), `after ${before} steps`).toHaveLength(10);
    }
  });

  it("stays small with many runs: the worst are drawn, of the others there is a line", async () => {
    const [run] = await sketched(looping("x/bad", 400).map((line) => ({ ...line, text: "<".repeat(290) })));
    if (run === undefined) throw new Error("there is a run");
    const runs = Array.from({ length: 1500 }, (_, i) => ({
      ...run,
      judged: run.judged.map((one) => ({ ...one, trace: `x/${i}.` })),
    }));
    const page = writeReport({ runs, policy: "default", accuracy: null, problems: [] });
    expect(page.length).toBeGreaterThan(5_000_000);
    expect(page.length).toBeLessThan(10_000_000);
    expect(new Set(page.match(/x\/\d+\./g)).size).toBe(runs.length);
  });
});
