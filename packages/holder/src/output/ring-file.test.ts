import { describe, expect, it } from "vitest";
import { leap, newHeader, packHeader, type RingHeader, slotBytes } from "./ring-file.ts";

const grow = (header: RingHeader, bytes: number): RingHeader => ({ ...header, end: header.end + bytes });

describe("gaps in what is kept", () => {
  it("are one gap for as long as nothing could be written between", () => {
    let header = grow(newHeader(1000, 0), 10);
    for (const to of [20, 30, 40]) header = leap(header, to);
    expect(header).toMatchObject({ end: 40, floor: 0, gaps: [{ from: 10, to: 40 }] });
  });

  it("are forgotten when what they lie in is no longer kept", () => {
    const header = leap(grow(leap(newHeader(100, 0), 10), 200), 220);
    expect(header.gaps).toEqual([{ from: 210, to: 220 }]);
  });

  it("never take more room than there is: the past gives way", () => {
    let header = newHeader(1_000_000, 0);
    for (let count = 0; count < 50; count++) header = leap(grow(header, 10), header.end + 20);
    expect(header.gaps).toHaveLength(8);
    expect(header.floor).toBe((header.gaps[0]?.from ?? 0) - 10);
    expect(packHeader(header)).toHaveLength(slotBytes);
  });
});
