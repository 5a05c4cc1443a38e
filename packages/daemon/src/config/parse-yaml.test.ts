import { describe, expect, it } from "vitest";
import { describeProblem } from "./config-problem.ts";
import { parseYaml } from "./parse-yaml.ts";

const parse = (text: string) => parseYaml({ name: "c.yaml", text });
const problemsIn = (text: string) => parse(text).problems.map(describeProblem);

describe("the text of a file", () => {
  it("is read with the place of every key and value", () => {
    const { value, locate } = parse("a:\n  b: [1, 2]\n");
    expect(value).toEqual({ a: { b: [1, 2] } });
    expect(locate(["a", "b"], "key")).toEqual({ file: "c.yaml", path: "a.b", line: 2, column: 3 });
    expect(locate(["a", "b", 1])).toEqual({ file: "c.yaml", path: "a.b.1", line: 2, column: 10 });
    expect(locate(["a", "nowhere"])).toMatchObject({ line: 1, column: 1 });
  });

  it("may be JSON, tabs included", () => {
    expect(parse('{\n\t"a": {\n\t\t"b": true\n\t}\n}\n').value).toEqual({ a: { b: true } });
  });

  it("with broken syntax is refused with the line, once per line", () => {
    expect(problemsIn("a: 1\n b: 2\n")).toEqual([
      "c.yaml:1:4: not valid YAML: Nested mappings are not allowed in compact mappings",
    ]);
    expect(problemsIn("ok: 1\n@x: 1\n`y: 2\n")).toHaveLength(2);
    expect(problemsIn("a: 1\n---\nb: 2\n")).toEqual(["c.yaml:2:1: more than one YAML document in one file"]);
    expect(problemsIn("a: !secret b\n")[0]).toContain("c.yaml:1:4: not valid YAML: a tag that is not known");
  });

  it.each([
    'key: "sk-live-1234\nother: [sk-live-5678\n}{ sk-live-9999: :\n',
    "a: 1\n] sk-live-1\n",
    "a: | sk-live-2\n x\n",
    "a: !u!sk-live-3 x\n",
    "%sk-live-4 x\n---\na: 1\n",
  ])("is not quoted when its syntax is broken: %j", (text) => {
    expect(problemsIn(text).length).toBeGreaterThan(0);
    expect(problemsIn(text).join()).not.toContain("sk-live");
  });

  it("that gives a key twice is refused at the second one", () => {
    expect(problemsIn("a:\n  b: 1\n  b: 2\n")).toEqual(["c.yaml:3:3 a.b: duplicate key: it is already given above"]);
    expect(problemsIn("1: x\n'1': y\n")).toHaveLength(1);
  });

  it("whose keys are not plain names is refused", () => {
    expect(problemsIn("? [a, b]\n: 1\n")).toEqual(["c.yaml:1:3 ?: a key must be plain text"]);
    expect(problemsIn("a: { __proto__: { enabled: false } }")).toEqual([
      "c.yaml:1:6 a.__proto__: not allowed as a name",
    ]);
  });

  it("with an alias to nothing is refused where the alias stands", () => {
    expect(problemsIn("a: 1\nb: *later\nc: &later 2\n")).toEqual([
      "c.yaml:2:4 b: an alias to an anchor that is not set before it",
    ]);
  });
});

describe("a file meant to harm", () => {
  it("is refused when it is larger than 1 MB", () => {
    expect(problemsIn("#".repeat(1_048_577))).toEqual(["c.yaml: the file is larger than 1 MB"]);
    expect(problemsIn("#".repeat(1_048_576))).toEqual([]);
  });

  it("is refused when its aliases unfold into billions", () => {
    const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(", ")}]`);
    expect(problemsIn(`l0: &l0 [x, x]\n${levels.join("\n")}\n`)).toEqual([
      "c.yaml: too many aliases: it would unfold into something huge",
    ]);
  });

  it("is refused when it has aliases without end", () => {
    expect(problemsIn(`a: &a 1\nb: [${"*a, ".repeat(10_001)}]`)[0]).toContain("too many aliases");
  });

  it("is refused when it is nested too deeply to read", () => {
    expect(problemsIn("[".repeat(100_000))).toEqual(["c.yaml: nested too deeply"]);
  });

  it("may refer to itself without sending us in circles", () => {
    expect(problemsIn("&a { x: *a }")).toEqual([]);
  });
});
