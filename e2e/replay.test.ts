import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { program, repository, runRouse, startProgram, startRouse } from "./run-rouse.ts";

/** Real runs, beside the repository where they are; they are never copied into it. */
const traces = resolve(repository, "..", "shared", "traces");
const tracesAreHere = existsSync(join(traces, "labels.jsonl"));
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these would act on a terminal
const actsOnATerminal = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;
const nasty = "\u001b[2J\u202e</title><script>alert(1)</script>";

let folder: string;
let home: string;

beforeEach(() => {
  folder = makeFolder();
  home = join(folder, "home");
});

afterEach(cleanUp);

const replay = (...words: string[]) => runRouse(["replay", ...words], { home });
const documentsOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

function record(name: string, ...lines: (object | string)[]): string {
  const text = lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
  writeFileSync(join(folder, name), text);
  return name;
}

/** The same command with the same answer again and again. */
const looping = (trace: string, times = 8): object[] =>
  Array.from({ length: times }, () => [
    { trace, kind: "tool_call", tool: "Bash", args: "make test" },
    { trace, kind: "tool_result", tool: "Bash", text: "make: nothing to be done", failed: false },
  ]).flat();

const busy = (trace: string): object[] =>
  Array.from({ length: 12 }, (_, i) => [
    { trace, kind: "tool_call", tool: "Read", args: `chapter-${i}.md` },
    { trace, kind: "tool_result", tool: "Read", text: `text of a chapter about ${"abcdefghijkl"[i]}`, failed: false },
  ]).flat();

describe("rouse replay", () => {
  it("says which recorded runs were stuck, from which event on and why, and ends with 0", async () => {
    record("runs.jsonl", ...looping("x/loop"), ...busy("x/work"));
    const { code, stdout, stderr } = await replay("runs.jsonl");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^stuck +x\/loop\n +event 9 of 16: the same call with the same result 5 times/);
    expect(stdout).toMatch(/\nSOURCE .*\nx +2 +40 +1 +– +1 +–\n/);
    expect(stdout).not.toContain("x/work");
    expect((await replay("runs.jsonl", "--all")).stdout).toContain("healthy  x/work");
  });

  it("prints one JSON document per run with --json and nothing else", async () => {
    record("runs.jsonl", ...looping("x/loop"), ...busy("x/work"));
    const { code, stdout, stderr } = await replay("--json", ".");
    expect(code).toBe(0);
    expect(documentsOf(stdout)).toMatchObject([
      { trace: "x/loop", verdict: "stuck", index: 9, because: [{ kind: "identical-step", evidence: { times: 5 } }] },
      { trace: "x/work", verdict: "healthy", index: null, because: [] },
    ]);
    expect(stderr).toBe("rouse: 2 runs, 40 events: 1 healthy, 0 suspect, 1 stuck, 0 failing\n");
  });

  it("reads a run that is spread over stdin and a file", async () => {
    const lines = looping("loop");
    record("a.jsonl", ...lines.slice(0, 5));
    record("b.jsonl", ...lines.slice(5));
    const pipe = `cat a.jsonl | "$0" "$1" replay - b.jsonl --json`;
    const { stdout } = await startProgram("/bin/sh", ["-c", pipe, process.execPath, program], { home }).ended;
    expect(documentsOf(stdout)).toMatchObject([{ trace: "loop", verdict: "stuck", index: 9 }]);
  });

  it("names bad lines and missing files, judges the rest and ends with 2", async () => {
    const bad = ["{broken", { kind: "message" }, { trace: "loop" }, { trace: "loop", kind: nasty }];
    record("bad.jsonl", ...bad, ...looping("loop"), { trace: "loop", kind: "message", tokens: "many" });
    record("empty.jsonl");
    const { code, stdout, stderr } = await replay("bad.jsonl", "gone.jsonl", "empty.jsonl", "--json");
    expect(code).toBe(2);
    expect(documentsOf(stdout)).toMatchObject([{ trace: "loop", verdict: "stuck", index: 9 }]);
    for (const part of [
      "rouse: gone.jsonl: there is no such file\n",
      "rouse: bad.jsonl:1: is not JSON",
      "rouse: bad.jsonl:2: no trace",
      "rouse: bad.jsonl:3: no kind",
      "rouse: bad.jsonl:4: kind: found",
      "rouse: bad.jsonl:21: tokens: found",
      "rouse: empty.jsonl: is empty",
    ])
      expect(stderr).toContain(part);
    expect(stderr.replaceAll("\n", "")).not.toMatch(actsOnATerminal);
  });

  it("survives a line of 100 MB without holding it", async () => {
    const file = await open(join(folder, "long.jsonl"), "w");
    await file.write('{"trace":"loop","kind":"message","text":"');
    const piece = Buffer.alloc(10_000_000, "x");
    for (let i = 0; i < 10; i++) await file.write(piece);
    await file.write(
      `"}\n${looping("loop")
        .map((line) => JSON.stringify(line))
        .join("\n")}\n`,
    );
    await file.close();
    // As a text the line would not fit into this heap.
    const rouse = startRouse(["replay", "long.jsonl", "--json"], {
      home,
      environment: { NODE_OPTIONS: "--max-old-space-size=80" },
    });
    const { code, stdout, stderr } = await rouse.ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/long\.jsonl:1: is 100,000,0\d\d bytes long/);
    expect(documentsOf(stdout)).toMatchObject([{ verdict: "stuck", index: 9 }]);
  });

  it("lets nothing an agent wrote act on the terminal", async () => {
    record("runs.jsonl", ...looping(`x/${nasty}`));
    const { stdout } = await replay("runs.jsonl");
    expect(stdout.replaceAll("\n", "")).not.toMatch(actsOnATerminal);
    expect((await replay("runs.jsonl", "--json")).stdout).toMatch(/^[\x20-\x7e]*\n$/);
  });

  it("ends with 2 and says what is missing when it is not understood", async () => {
    record("runs.jsonl", ...busy("x"));
    for (const words of [[], ["runs.jsonl", "--policy", "flet"], ["runs.jsonl", "--compare", "default"]]) {
      const { code, stdout, stderr } = await replay(...words);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/^rouse: [^\n]+\n$/);
    }
    const { code, stdout } = await replay("--help");
    expect(code).toBe(0);
    for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it("ends at once and quietly on Ctrl-C, even while it waits for a pipe", async () => {
    const fifo = join(folder, "slow.jsonl");
    execFileSync("mkfifo", [fifo]);
    const rouse = startRouse(["replay", fifo], { home });
    // Opening it to write waits for somebody who reads.
    const writer = await open(fifo, "w");
    rouse.child.kill("SIGINT");
    expect(await rouse.ended).toMatchObject({ signal: "SIGINT", stdout: "", stderr: "" });
    await writer.close();
  });
});

describe("rouse replay --labels", () => {
  it("measures precision and recall, for people and for scripts", async () => {
    record("runs.jsonl", ...looping("a"), ...busy("b"), ...looping("c"));
    const label = (trace: string, says: string) => ({ trace, label: says, kind: "cycle", why: "because" });
    record("labels.jsonl", label("a", "stuck"), label("b", "stuck"), label("c", "transient"));
    const { code, stdout } = await replay("runs.jsonl", "labels.jsonl", "--labels", "labels.jsonl");
    expect(code).toBe(0);
    expect(stdout).toMatch(/precision, transients right +1\.00 +2 of 2/);
    expect(stdout).toMatch(/precision, transients wrong +0\.50 +1 of 2/);
    expect(stdout).toMatch(/recall, all stuck +0\.50 +1 of 2/);
    expect(stdout).toMatch(/Missed \(1\)\nhealthy +b\n[\s\S]*False alarms \(1\)\nstuck +c\n/);
    const documents = documentsOf((await replay("runs.jsonl", "--labels", "labels.jsonl", "--json")).stdout);
    expect(documents.at(0)).toMatchObject({ trace: "a", label: "stuck", labelKind: "cycle" });
    expect(documents.at(-1)).toMatchObject({
      summary: { runs: 3, accuracy: { recall: { count: 1, of: 2, share: 0.5 }, missed: [{ trace: "b" }] } },
    });
  });
});

describe("rouse replay --policy and --compare", () => {
  beforeEach(() => {
    record("runs.jsonl", ...looping("loop"), ...busy("work"));
    const cycle = (stuck: number) =>
      `health_monitoring:\n  loops:\n    identical_step: { suspect: 2, stuck: ${stuck} }\n    identical_call: { enabled: false }\n`;
    writeFileSync(join(folder, "a.yaml"), cycle(3));
    writeFileSync(join(folder, "b.yaml"), cycle(12));
  });

  it("judges by a file of one's own, or by a preset", async () => {
    const verdictBy = async (policy: string) => {
      const { stdout } = await replay("runs.jsonl", "--unfinished", "--json", "--policy", policy);
      const [{ verdict, index }] = documentsOf(stdout) as [{ verdict: string; index: number }];
      return `${verdict} ${index}`;
    };
    expect(await verdictBy("a.yaml")).toBe("stuck 5");
    expect(await verdictBy("b.yaml")).toMatch(/^suspect/);
    expect(await verdictBy("default")).toBe("stuck 9");
    const { stdout } = await replay("runs.jsonl", "--json", "--policy", "b.yaml");
    expect(documentsOf(stdout)[0]).toMatchObject({ verdict: "stuck", index: 15 }); // it ends in its loop
  });

  it("shows what each of two would have done, wherever the files stand in the command", async () => {
    for (const words of [
      ["runs.jsonl", "--unfinished", "--compare", "a.yaml", "b.yaml"],
      ["--unfinished", "--compare", "a.yaml", "b.yaml", "runs.jsonl"],
    ]) {
      const { code, stdout } = await replay(...words);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^loop\n {2}a {2}stuck {2}event 5, 1 alert: .*\n {2}b {2}suspect {2}event 3: /);
      expect(stdout).toContain("They differ in 1 of 2 runs.");
      expect(stdout).not.toContain("work");
    }
    const documents = documentsOf(
      (await replay("runs.jsonl", "--unfinished", "--json", "--compare", "a.yaml", "b.yaml")).stdout,
    );
    expect(documents).toMatchObject([
      { trace: "loop", differs: ["verdict", "index", "alerts"], a: { verdict: "stuck", alerts: 1 }, b: { alerts: 0 } },
      { summary: { runs: 2, differing: 1, policies: ["a.yaml", "b.yaml"], a: { alerts: 1 }, b: { alerts: 0 } } },
    ]);
  });
});

describe("rouse replay --report", () => {
  it("writes one page that stands alone and in which nothing of a trace is markup", async () => {
    record("runs.jsonl", ...looping(`x/${nasty}`), ...busy("x/work"));
    expect(await replay("runs.jsonl", "--report", "out.html")).toMatchObject({ code: 0 });
    const page = readFileSync(join(folder, "out.html"), "utf8");
    expect(page).toContain("Content-Security-Policy");
    expect(page).toContain("the same call with the same result 5 times");
    expect(page).not.toMatch(/<script|src=|href=/i);
    expect(page).not.toMatch(/\u202e/);
  });

  it("ends with 1 when it cannot be written", async () => {
    record("runs.jsonl", ...busy("work"));
    const { code, stderr } = await replay("runs.jsonl", "--report", "no/such/folder/out.html");
    expect(code).toBe(1);
    expect(stderr).toContain("the report cannot be written to no/such/folder/out.html");
  });
});

describe("the recorded runs of real agents", () => {
  it.skipIf(!tracesAreHere)(
    "are read without a fault, none of the healthy Claude Code runs is called stuck, and the report is small",
    async () => {
      const words = [traces, "--labels", join(traces, "labels.jsonl"), "--report", join(folder, "out.html"), "--json"];
      const { code, stdout } = await replay(...words);
      expect(code).toBe(0);
      const documents = documentsOf(stdout);
      const { summary } = documents.pop();
      expect(documents).toHaveLength(951);
      const healthy = documents.filter(({ trace }) => trace.startsWith("claude_entire/"));
      expect(healthy).toHaveLength(71);
      expect(healthy.filter(({ verdict }) => verdict === "stuck" || verdict === "failing")).toEqual([]);
      expect(summary.accuracy).toMatchObject({ labelled: 118, absent: 0 });
      expect(summary.accuracy.precision.transientsRight.share).toBeGreaterThanOrEqual(0.95);
      expect(summary.accuracy.precision.transientsWrong.share).toBeGreaterThanOrEqual(0.9);
      expect(readFileSync(join(folder, "out.html")).length).toBeLessThan(10_000_000);
    },
  );

  if (!tracesAreHere)
    console.warn(
      `\n  NOT TESTED: the recorded runs of real agents are not in ${traces}; only made-up runs were replayed.\n`,
    );
});
