import { expect, it } from "vitest";
import { createProgram } from "./create-program.ts";
import { readSurroundings } from "./surroundings.ts";

const namesFor = async (...words: string[]): Promise<string[]> => {
  const program = await createProgram(
    words,
    readSurroundings(),
    async () => undefined,
    () => undefined,
  );
  return program.commands.map((command) => command.name());
};

it("knows each command by the name it is called by, and loads no other with it", async () => {
  const all = await namesFor();
  expect(all).toContain("ps");
  for (const name of all) expect(await namesFor(name, "--help")).toEqual([name]);
});

it("knows all commands where there is something to explain", async () => {
  const all = await namesFor();
  for (const words of [["--help"], ["help", "ps"], ["pss"], ["constructor"], ["--", "ps"]])
    expect(await namesFor(...words)).toEqual(all);
});
