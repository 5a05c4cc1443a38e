import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { agentStatuses, Heartbeat } from "./heartbeat.ts";
import { recogniseHeartbeat } from "./recognise-heartbeat.ts";

const ordinary = {
  agentId: "worker-1",
  taskId: "task-9",
  sequenceNumber: 42,
  timestamp: "2026-02-05T10:30:00Z",
  status: "RUNNING",
  phase: "coding",
  lastToolCall: "2026-02-05T10:29:50Z",
  tokenCount: 1200,
  errorCount: 0,
  progressIndicator: "3/10",
};

const odd = fc.oneof(
  fc.constantFrom(
    null,
    undefined,
    true,
    "",
    "x".repeat(300),
    -1,
    0,
    1.5,
    Number.NaN,
    2 ** 60,
    "rouse.x",
    "a b",
    "\u0000",
  ),
  fc.integer(),
  fc.string(),
  fc.constantFrom(...agentStatuses),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.record(
    {
      kind: fc.constantFrom("tool", "model", "door"),
      name: fc.constantFrom("pytest", "x".repeat(201), 7),
      timeoutSeconds: fc.constantFrom(0, 900, -1, 604_801, Number.NaN, "9"),
      more: fc.constant(1),
    },
    { requiredKeys: [] },
  ),
  fc.constantFrom("input", "provider", "children", "schedule"),
  fc.constant([]),
);
const key = fc.constantFrom(...Object.keys(Heartbeat.shape), "unknown", "__proto__");

describe("recognising a heartbeat without the schema", () => {
  it("knows the ordinary one", () => {
    expect(recogniseHeartbeat(ordinary)).toEqual(ordinary);
  });

  it("never says yes to what the schema refuses, nor reads anything differently", () => {
    let recognised = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(key, odd), { maxLength: 4 }), (changes) => {
        const message: Record<string, unknown> = { ...ordinary };
        for (const [name, value] of changes) message[name] = value;
        const quick = recogniseHeartbeat(message);
        if (quick === null) return;
        recognised += 1;
        const thorough = Heartbeat.safeParse(message);
        expect(thorough.success).toBe(true);
        expect(quick).toEqual(thorough.data);
      }),
      { numRuns: 5000 },
    );
    expect(recognised).toBeGreaterThan(300);
  });

  it("leaves what it does not know to the schema", () => {
    expect(recogniseHeartbeat({ ...ordinary, healthMetrics: { memory: 0.5 } })).toBeNull();
    expect(recogniseHeartbeat({ agent_id: "worker-1" })).toBeNull();
    expect(recogniseHeartbeat({ ...ordinary, status: "FINE" })).toBeNull();
  });
});
