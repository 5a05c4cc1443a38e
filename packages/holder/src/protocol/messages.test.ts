import { ContainmentMeans, UserPattern } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { readMessage, type ToHolder } from "./messages.ts";

const Size = z.object({ cols: z.number().int().min(2).max(1000), rows: z.number().int().min(2).max(1000) });
const Store = z.string().min(1).max(100);
const Order = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("stop"),
    graceMs: z.number().nonnegative().max(600_000),
    unlessAttached: z.boolean().optional(),
    notAfter: z.number().optional(),
    silentAt: z.number().optional(),
  }),
  z.object({ kind: z.literal("withdraw-stop") }),
  z.object({
    kind: z.literal("nudge"),
    text: z.string().max(2000),
    notAfter: z.number(),
    whenIdle: z.literal(true).optional(),
  }),
  z.object({
    kind: z.literal("contain"),
    how: z.union([ContainmentMeans, z.literal("let-go")]),
    reason: z.string().max(2000),
    decidedAt: z.number(),
    lastsMs: z.number().nonnegative().max(86_400_000),
  }),
]);

/** What `readMessage` is to understand. A holder does without the library that reads it. */
const schema: z.ZodType<ToHolder> = z.discriminatedUnion("say", [
  z.object({
    say: z.literal("hello"),
    secret: z.string().max(200),
    monitor: z.object({ store: Store, epoch: z.number().int() }).nullable(),
  }),
  z.object({ say: z.literal("adopt"), store: Store }),
  z.object({ say: z.literal("probe"), id: z.number().int() }),
  z.object({ say: z.literal("watch"), epoch: z.number().int(), after: z.number().int() }),
  z.object({ say: z.literal("heard"), seq: z.number().int() }),
  z.object({
    say: z.literal("settings"),
    settings: z.object({ patterns: z.array(UserPattern), completionMarker: z.string().max(200) }),
  }),
  z.object({ say: z.literal("look") }),
  z.object({
    say: z.literal("order"),
    key: z.string().max(300),
    incarnation: z.number().int(),
    epoch: z.number().int().nullable(),
    order: Order,
  }),
  z.object({ say: z.literal("read"), from: z.number().int().nonnegative().nullable(), follow: z.boolean() }),
  z.object({ say: z.literal("attach"), size: Size }),
  z.object({ say: z.literal("resize"), size: Size }),
]);

const size = { cols: 80, rows: 24 };
const settings = {
  patterns: [
    { kind: "error", pattern: "x", family: "codex", name: "n" },
    { kind: "at-prompt", pattern: "y" },
  ],
  completionMarker: "done",
};
const order = { say: "order", key: "k", incarnation: 1, epoch: null, order: { kind: "stop", graceMs: 10 } };
const good: object[] = [
  { say: "hello", secret: "s", monitor: null },
  { say: "hello", secret: "s", monitor: { store: "one", epoch: 3 } },
  { say: "adopt", store: "one" },
  { say: "probe", id: 1 },
  { say: "watch", epoch: 1, after: 0 },
  { say: "heard", seq: 3 },
  { say: "settings", settings },
  { say: "look" },
  order,
  { ...order, epoch: 4 },
  { ...order, order: { kind: "stop", graceMs: 10, unlessAttached: true } },
  { ...order, order: { kind: "stop", graceMs: 10, unlessAttached: true, notAfter: 1_800_000_000_000, silentAt: 5 } },
  { ...order, order: { kind: "withdraw-stop" } },
  { ...order, order: { kind: "nudge", text: "go on", notAfter: 1_800_000_000_000 } },
  { ...order, order: { kind: "contain", how: "pause", reason: "in circles", decidedAt: 5, lastsMs: 3_600_000 } },
  { ...order, order: { kind: "contain", how: "let-go", reason: "", decidedAt: 6, lastsMs: 0 } },
  { say: "read", from: null, follow: true },
  { say: "read", from: 7, follow: false },
  { say: "attach", size },
  { say: "resize", size },
];

const odd = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    -1,
    0.5,
    "",
    "x",
    Number.NaN,
    1e300,
    true,
    [],
    {},
    "y".repeat(1001),
    "y".repeat(2001),
    601_000,
    86_400_001,
    "interrupt",
    1001,
  ),
  fc.jsonValue(),
);

/** Puts something else somewhere into it. */
function change(value: unknown, path: readonly number[], other: unknown): unknown {
  const [index, ...rest] = path;
  if (typeof value !== "object" || value === null || index === undefined) return other;
  const keys = Object.keys(value);
  const key = keys[index % (keys.length + 1)] ?? "surplus";
  const changed = change((value as Record<string, unknown>)[key], rest, other);
  return Array.isArray(value)
    ? value.map((each, at) => (String(at) === key ? changed : each))
    : { ...value, [key]: changed };
}

describe("a message to a holder", () => {
  it("is understood when it is one", () => {
    for (const message of good) expect(readMessage(message), JSON.stringify(message)).toEqual(message);
  });

  it("is understood exactly when the schema understands it", () => {
    const spoilt = fc.tuple(fc.constantFrom(...good), fc.array(fc.nat(6), { minLength: 1, maxLength: 4 }), odd);
    fc.assert(
      fc.property(spoilt, ([message, path, other]) => {
        const value = change(message, path, other);
        expect(readMessage(value) !== null, JSON.stringify(value)).toBe(schema.safeParse(value).success);
      }),
      { numRuns: 3000 },
    );
    for (const value of [null, 1, "probe", [], {}, { say: "toString" }]) expect(readMessage(value)).toBeNull();
  });
});
