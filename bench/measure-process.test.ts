import { describe, expect, it } from "vitest";
import { readRollup } from "./measure-process.ts";

const rollup = `00400000-7ffc46a31000 ---p 00000000 00:00 0                              [rollup]
Rss:               57344 kB
Pss:               17408 kB
Pss_Dirty:         15600 kB
Shared_Clean:      41944 kB
Private_Clean:      1024 kB
Private_Dirty:     15360 kB
`;

describe("the memory of a process", () => {
  it("is told in megabytes: all of it, its share, and what is its own", () => {
    expect(readRollup(rollup)).toEqual({ rss: 56, pss: 17, own: 16 });
  });

  it("is not guessed where the kernel does not tell it", () => {
    expect(() => readRollup("Rss: 12 kB\n")).toThrow("the kernel does not tell Pss of a process");
  });
});
