import { canonicalJson, digestOf } from "@rouse/contract";
import { expect, describe as group, it } from "vitest";
import { describe, describeError } from "./describe-call.ts";

group("what stands for a value", () => {
  it("is what Rouse itself would make of it", () => {
    expect(describe("npm test")?.digest).toBe(digestOf("npm test"));
    expect(describe({ b: 1, a: [2] })?.digest).toBe(digestOf(canonicalJson({ a: [2], b: 1 })));
  });

  it("is equal for equal values, whatever the order of their keys, and differs otherwise", () => {
    expect(describe({ a: 1, b: { c: 2, d: 3 } })).toEqual(describe({ b: { d: 3, c: 2 }, a: 1 }));
    expect(describe({ a: 1 })?.digest).not.toBe(describe({ a: 2 })?.digest);
    expect(describe(new Map([["a", 1]]))).toEqual(describe([["a", 1]]));
    expect(describe(new Uint8Array([1, 2]))?.digest).not.toBe(describe(new Uint8Array([1, 3]))?.digest);
    expect(describe(12n)?.digest).toBe(describe("12")?.digest);
  });

  it("has a class that numbers and times do not change", () => {
    const [one, two] = [describe("failed after 12.3s: 4 of 20"), describe("failed after 9s: 6 of 31")];
    expect(one?.digest).not.toBe(two?.digest);
    expect(one?.class).toBe(two?.class);
    expect(describeError(new Error("a"))).toEqual(describeError(new Error("a")));
  });

  it("is nothing where nothing can be read: unknown never equals unknown", () => {
    class Closed {
      readonly #secret = 1;
      read = undefined;
      tell = (): number => this.#secret;
    }
    for (const odd of [
      undefined,
      () => 1,
      Symbol("s"),
      new WeakMap(),
      new Promise(() => undefined),
      new Response("x"),
      new Closed(),
      { f: () => 1 },
    ])
      expect(describe(odd)).toBeNull();
  });

  it("is made of cycles, traps and giants without harm", () => {
    const itself: Record<string, unknown> = {};
    itself["again"] = itself;
    expect(describe(itself)).not.toBeNull();
    const trap = {
      get a(): never {
        throw new Error("no");
      },
    };
    expect(describe(trap)).toBeNull();
    expect(describe({ toString: null, valueOf: null })).not.toBeNull();
    expect(describe(new Array(1_000_000).fill(0))).toBeNull();
    expect(describe("x".repeat(5_000_000))).not.toBeNull();
    expect(describe("\ud800")).not.toBeNull();
    expect(describeError(Object.create(null))).toBeNull();
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(describe(deep)).toBeNull();
  });
});
