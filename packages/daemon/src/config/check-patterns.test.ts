import { describe, expect, it } from "vitest";
import { describeProblem } from "./config-problem.ts";
import { readConfig, requireConfig } from "./read-config.ts";

const read = (text: string) => readConfig({ file: { name: "c", text } });

function problemsIn(text: string): string[] {
  const reading = read(text);
  return reading.ok ? [] : reading.problems.map(describeProblem);
}

const withPattern = (pattern: string) =>
  `health_monitoring:\n  terminal:\n    patterns:\n      - { kind: error, pattern: ${JSON.stringify(pattern)} }\n`;

describe("a pattern of one's own", () => {
  it.each(["^deploy failed: (.*)$", "(?i)quota \\d+ exceeded", "(?P<file>\\S+) changed", "(a+)+$"])(
    "may be %s",
    (pattern) => {
      const { settings } = requireConfig(read(withPattern(pattern)));
      expect(settings.terminal.patterns).toEqual([{ kind: "error", pattern }]);
    },
  );

  it("that is not a regular expression is refused, with its place, in the engine's words and with what the engine lacks", () => {
    expect(problemsIn(withPattern("rate (limit"))).toEqual([
      "c:4:33 health_monitoring.terminal.patterns.0.pattern: not a pattern that can be used: missing closing ): `rate (limit`; patterns run on a linear-time engine (RE2), which has no look-around and no back-references",
    ]);
  });

  it.each(["(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", "(a)\\1", "[z-a]", "a**", "x{2000}", "((a{100}){100}){100}"])(
    "that only a backtracking engine could run, or none, is refused: %s",
    (pattern) => {
      const problems = problemsIn(withPattern(pattern));
      expect(problems).toHaveLength(1);
      expect(problems[0]).toContain("no look-around and no back-references");
    },
  );

  it("is checked in every override, together with mistakes elsewhere", () => {
    const bad = "{ terminal: { patterns: [{ kind: file, pattern: x }, { kind: file, pattern: '(' }] } }";
    const groups = ["policies", "agent_types", "tasks", "agents"];
    const problems = problemsIn(`nonsense: 1\n${groups.map((group) => `${group}: { a: ${bad} }`).join("\n")}`);
    expect(problems).toHaveLength(5);
    groups.forEach((group, i) => {
      expect(problems[i + 1]).toContain(` ${group}.a.terminal.patterns.1.pattern: not a pattern that can be used`);
    });
  });

  it("that many agents share through an anchor is told of at each of them", () => {
    const text =
      "agents:\n  a: &shared { terminal: { patterns: [{ kind: error, pattern: '(' }] } }\n  b: *shared\n  c: *shared\n";
    expect(problemsIn(text).map((problem) => problem.split(" ")[0])).toEqual(["c:2:63", "c:3:3", "c:4:3"]);
  });

  it("that is wrong by itself already is told of once", () => {
    expect(problemsIn(withPattern(`(${"x".repeat(1000)}`))).toEqual([
      expect.stringContaining("expected text of 1 to 1000 characters"),
    ]);
  });

  it("is repeated only in part and never with control characters", () => {
    const [problem = ""] = problemsIn(withPattern(`(\u001b[2J]${"x".repeat(500)}`));
    expect(problem).toContain("missing closing ): `(\ufffd[2J]xxx");
    expect(problem.length).toBeLessThan(400);
  });
});
