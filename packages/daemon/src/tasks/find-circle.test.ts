import { describe, expect, it } from "vitest";
import { describeCircle, findCircle } from "./relate-tasks.ts";

/** What depends on what; `asked` counts how often anybody looked. */
function graph(dependencies: Readonly<Record<string, readonly string[]>>) {
  const waitedFor = new Set(Object.values(dependencies).flat());
  const asked: string[] = [];
  return {
    asked,
    dependenciesOf: (taskId: string): readonly string[] => {
      asked.push(taskId);
      return dependencies[taskId] ?? [];
    },
    isWaitedFor: (taskId: string): boolean => waitedFor.has(taskId),
  };
}

/** Task 0 waits for `new`, and each other for the one before it. */
const chain = {
  dependenciesOf: (taskId: string): readonly string[] => (taskId === "0" ? ["new"] : [String(Number(taskId) - 1)]),
  isWaitedFor: (): boolean => true,
};

describe("a new task", () => {
  it("that would wait for itself is found, with the way round", () => {
    const known = graph({ a: ["b", "c"], b: ["x"], c: ["d"], d: ["new"] });
    expect(findCircle({ taskId: "new", dependsOn: ["a"] }, known)).toEqual(["new", "a", "c", "d", "new"]);
    expect(findCircle({ taskId: "self", dependsOn: ["a", "self"] }, known)).toEqual(["self", "self"]);
    expect(findCircle({ taskId: "new", dependsOn: ["b", "nobody-made-it"] }, known)).toBeNull();
  });

  it("that nobody waits for costs no search, however much it depends on", () => {
    const known = graph({ a: ["b"], b: ["c"], c: [] });
    expect(findCircle({ taskId: "last", dependsOn: ["a", "b", "c"] }, known)).toBeNull();
    expect(known.asked).toEqual([]);
  });

  it("is compared with each of the others once", () => {
    const next = (n: number): readonly string[] => (n === 39 ? [] : [`left${n + 1}`, `right${n + 1}`]);
    const layers = Array.from({ length: 40 }, (_, n) => [
      [`left${n}`, next(n)] as const,
      [`right${n}`, next(n)] as const,
    ]).flat();
    const known = graph({ ...Object.fromEntries(layers), other: ["new"] });
    expect(findCircle({ taskId: "new", dependsOn: ["left0", "right0"] }, known)).toBeNull();
    expect(known.asked).toHaveLength(80);
  });

  it("may close the longest of circles: the way is put together once, not at every step", () => {
    const circle = findCircle({ taskId: "new", dependsOn: ["199999"] }, chain);
    expect(circle?.length).toBe(200_002);
    expect(circle?.slice(0, 3)).toEqual(["new", "199999", "199998"]);
    expect(circle?.slice(-2)).toEqual(["0", "new"]);
  });
});

describe("the way round", () => {
  it("is told whole when it is short, and with how many were left out when it is long", () => {
    expect(describeCircle(["a", "b", "a"])).toBe("a → b → a");
    const ids = (length: number): string[] => Array.from({ length }, (_, n) => String(n));
    expect(describeCircle(ids(9))).toBe("0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → 8");
    expect(describeCircle(ids(10))).toBe("0 → 1 → 2 → 3 → (2 more) → 6 → 7 → 8 → 9");
    expect(describeCircle(ids(3000))).toBe("0 → 1 → 2 → 3 → (2992 more) → 2996 → 2997 → 2998 → 2999");
  });
});
