import { describe, expect, it } from "vitest";
import { createBreakers } from "./breaker-groups.ts";

const down = (): Promise<string> => Promise.reject(new Error("down"));

describe("breakers of many endpoints", () => {
  it("are one for each, so that one that is down keeps nobody from the others", async () => {
    const breakers = createBreakers<string>({ name: "external_api", failureThreshold: 1 });
    await breakers.run("a", down).catch(() => null);
    await expect(breakers.run("a", () => "x")).rejects.toThrow(/^external_api\/a is open/);
    expect(await breakers.run("b", () => "x")).toBe("x");
    expect(breakers.all().map(({ name, state }) => [name, state()])).toEqual([
      ["external_api/a", "OPEN"],
      ["external_api/b", "CLOSED"],
    ]);
  });

  it("are one for each group where endpoints belong together, with one fallback for all", async () => {
    const breakers = createBreakers<string>({
      name: "external_api",
      groupOf: (url) => new URL(url).host,
      failureThreshold: 2,
      fallback: ({ breaker }) => `an older answer, because of ${breaker}`,
    });
    await breakers.run("http://models.test/a", down).catch(() => null);
    await breakers.run("http://models.test/b", down).catch(() => null);
    expect(await breakers.run("http://models.test/c", () => "x")).toBe(
      "an older answer, because of external_api/models.test",
    );
    expect(await breakers.run("http://tools.test/a", () => "x")).toBe("x");
  });

  it("are so many at most: one goes that knows nothing bad, and those that are open stay", async () => {
    const breakers = createBreakers<string>({ name: "n", most: 2, failureThreshold: 1 });
    await breakers.run("bad", down).catch(() => null);
    for (let i = 0; i < 1000; i++) await breakers.run(`good-${i}`, () => "x");
    expect(breakers.all().map(({ name }) => name)).toEqual(["n/bad", "n/good-999"]);
    await breakers.run("good-999", down).catch(() => null);
    for (const endpoint of ["x", "y"]) await breakers.run(endpoint, down).catch(() => null);
    expect(breakers.all().map(({ name, state }) => [name, state()])).toEqual([
      ["n/bad", "OPEN"],
      ["n/good-999", "OPEN"],
      ["n/(others)", "OPEN"],
    ]);
    for (const most of [0, 1.5]) expect(() => createBreakers({ name: "n", most })).toThrow(RangeError);
  });

  it("stay while something has failed of late, and of the others those that were called last", async () => {
    const breakers = createBreakers<string>({ name: "n", most: 3, failureThreshold: 2 });
    await breakers.run("failing", down).catch(() => null);
    for (const endpoint of ["old", "new", "old", "other"]) await breakers.run(endpoint, () => "x");
    expect(breakers.all().map(({ name }) => name)).toEqual(["n/failing", "n/old", "n/other"]);
    await breakers.run("failing", down).catch(() => null);
    await expect(breakers.run("failing", () => "x")).rejects.toThrow("n/failing is open");
  });
});
