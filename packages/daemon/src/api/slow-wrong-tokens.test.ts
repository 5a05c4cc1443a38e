import { describe, expect, it } from "vitest";
import { slowWrongTokens, type Treatment } from "./slow-wrong-tokens.ts";

const describeTreatment = (treatment: Treatment): string | number => {
  if (treatment.kind !== "wait") return treatment.kind;
  treatment.over();
  return treatment.delay;
};

describe("wrong tokens from one address", () => {
  it("are answered at once ten times, then later and later, up to four seconds", () => {
    const guess = slowWrongTokens();
    const told = Array.from({ length: 18 }, () => describeTreatment(guess("a", 0)));
    expect(told).toEqual([...Array(10).fill("answer"), 100, 200, 400, 800, 1600, 3200, 4000, 4000]);
  });

  it("are too many when eight wait already, until one of them is answered", () => {
    const guess = slowWrongTokens();
    for (let n = 0; n < 10; n++) guess("a", 0);
    const waiting = Array.from({ length: 8 }, () => guess("a", 0));
    expect(guess("a", 0)).toEqual({ kind: "too-many" });
    const [first] = waiting;
    if (first?.kind === "wait") first.over();
    expect(guess("a", 0)).toMatchObject({ kind: "wait" });
    expect(guess("a", 0)).toEqual({ kind: "too-many" });
  });

  it("are those of one caller wherever on this machine they come from", () => {
    const guess = slowWrongTokens();
    const addresses = ["::1", "::ffff:127.0.0.1", "::FFFF:127.9.8.7"];
    const here = [...addresses, ...Array.from({ length: 297 }, (_, n) => `127.0.${n >> 7}.${n & 127}`)];
    const told = here.map((address) => describeTreatment(guess(address, 0)));
    expect(told.filter((each) => each === "answer")).toHaveLength(10);
    expect(told.at(-1)).toBe(4000);
    expect(describeTreatment(guess("128.0.0.1", 0))).toBe("answer");
  });

  it("are those of one caller however its address is written", () => {
    const guess = slowWrongTokens();
    for (let n = 0; n < 10; n++) guess("10.0.0.1", 0);
    expect(describeTreatment(guess("::ffff:10.0.0.1", 0))).toBe(100);
    expect(describeTreatment(guess("::2", 0))).toBe("answer");
  });

  it("are forgotten after a minute without one, and are nobody else's", () => {
    const guess = slowWrongTokens();
    for (let n = 0; n < 20; n++) describeTreatment(guess("a", 0));
    expect(describeTreatment(guess("b", 0))).toBe("answer");
    expect(describeTreatment(guess("a", 60_000))).toBe(4000);
    expect(describeTreatment(guess("a", 120_001))).toBe("answer");
  });

  it("are not forgotten while eight of them wait, however long that takes", () => {
    const guess = slowWrongTokens();
    for (let n = 0; n < 10; n++) guess("a", 0);
    const waiting = Array.from({ length: 8 }, () => guess("a", 0));
    expect(guess("a", 60_001)).toEqual({ kind: "too-many" });
    for (const one of waiting) describeTreatment(one);
    expect(describeTreatment(guess("a", 120_003))).toBe("answer");
  });

  it("are remembered of a thousand addresses, those that guessed last", () => {
    const guess = slowWrongTokens();
    for (let n = 0; n < 11; n++) describeTreatment(guess("a", 0));
    for (let n = 0; n < 999; n++) guess(`other-${n}`, 0);
    expect(describeTreatment(guess("a", 0))).toBe(200);
    for (let n = 0; n < 1000; n++) guess(`another-${n}`, 0);
    expect(describeTreatment(guess("a", 0))).toBe("answer");
  });
});
