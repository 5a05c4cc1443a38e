import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resumeCommand } from "../recover/resume-command.ts";
import { optionsInHelp } from "./program-help.test-support.ts";
import { type CommandLine, claudeLine, codexLine, geminiLine, opencodeLine, type Takes } from "./program-options.ts";
import { argsOf, readArguments, wordsIn } from "./read-arguments.ts";

const programs = [
  { family: "claude-code", line: claudeLine, start: ["claude"], session: "3f2a9c1e-0b1d-4c55-9d7e-1a2b3c4d5e6f" },
  { family: "codex", line: codexLine, start: ["codex"], session: "3f2a9c1e-0b1d-4c55-9d7e-1a2b3c4d5e6f" },
  { family: "gemini-cli", line: geminiLine, start: ["gemini"], session: "3f2a9c1e-0b1d-4c55-9d7e-1a2b3c4d5e6f" },
  { family: "opencode", line: opencodeLine, start: ["opencode", "run"], session: "ses_e1b5bfb9dffe8JjM45yH07FdQe" },
] as const;

interface Listed {
  readonly names: readonly string[];
  readonly takes: readonly Takes[];
}

/** `--model <MODEL>`, `--debug [filter]`, `--file <specs...>`, or with a type in brackets. */
function read(listed: string): Listed {
  const [, names = "", shape = ""] = /^((?:-[\w-]+(?:, )?)+)(?: (.*))?$/.exec(listed.trim()) ?? [];
  const all = names.split(", ").filter((name) => name !== "");
  if (shape === "" || shape === "[boolean]") return { names: all, takes: ["nothing"] };
  if (/^\[(?:string|number)\]$/.test(shape)) return { names: all, takes: ["one", "maybe"] };
  if (shape === "[array]") return { names: all, takes: ["one", "many"] };
  if (shape.startsWith("[")) return { names: all, takes: ["maybe"] };
  return { names: all, takes: [shape.includes("...") ? "many" : "one"] };
}

const listOf = (family: keyof typeof optionsInHelp): Listed[] =>
  optionsInHelp[family]
    .split("\n")
    .filter((each) => each.trim() !== "")
    .map(read);

describe.each(programs)("$family", ({ family, line, start, session }) => {
  it("has every option that its help lists, and each takes as many words as it says", () => {
    expect(listOf(family).length).toBeGreaterThan(20);
    for (const { names, takes } of listOf(family))
      for (const name of names) expect(takes, name).toContain(line.options.get(name)?.takes);
  });

  it("is read without losing a word, and its prompt is found among any of its options", () => {
    fc.assert(
      fc.property(optionsOf(line), optionsOf(line), fc.boolean(), (before, after, dashed) => {
        const args = [...before, ...(dashed ? ["--", "the task"] : ["the task", ...after])];
        const pieces = readArguments(line, args);
        expect(argsOf(pieces)).toEqual(args);
        expect(wordsIn(pieces)).toMatchObject([{ word: "the task", sure: true }]);
      }),
    );
  });

  it("goes on with the words in the place of its prompt, or starts over; the prompt is never said twice", () => {
    fc.assert(
      fc.property(optionsOf(line), optionsOf(line), (before, after) => {
        const resumed = resumeCommand(family, [...start, ...before, "the task", ...after], session, "go on");
        if (resumed === null) return;
        expect(resumed).not.toContain("the task");
        const said = wordsIn(readArguments(line, resumed.slice(1))).map(({ word }) => word);
        expect(said.filter((word) => word === "go on" || word === session).length).toBeGreaterThan(0);
        expect(resumed.filter((word) => word === "go on")).toHaveLength(1);
        expect(resumed.filter((word) => word === session)).toHaveLength(1);
      }),
    );
  });
});

/** Options as a person would write them; a prompt may follow any of them. */
function optionsOf({ options }: CommandLine): fc.Arbitrary<string[]> {
  const one = fc
    .tuple(fc.constantFrom(...options), fc.constantFrom("opus", "/repo", "a=b", "42"), fc.boolean())
    .map(([[name, { takes }], value, joined]) => {
      if (takes === "nothing") return [name];
      const isLong = name.startsWith("--");
      // A list, or an optional value, would take a prompt that stands right after it.
      if (takes !== "one" || joined) return [isLong ? `${name}=${value}` : `${name}${value}`];
      return [name, value];
    });
  return fc.array(one, { maxLength: 4 }).map((all) => all.flat());
}
