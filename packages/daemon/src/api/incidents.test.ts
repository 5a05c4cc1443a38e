import { EscalationList, IncidentList, RecoveryList, type RouseEvent } from "@rouse/contract";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import type { Monitor } from "../monitor.ts";
import { emptyCommit } from "../ports/store.ts";
import { serveTable } from "./serve-table.test-support.ts";
import { tableOfMonitor } from "./table.test-support.ts";

const lost = { checkpoints: 0, steps: null, flaws: [], startsOver: true };
const began = (agentId: string, attempt: number): RouseEvent => ({
  type: "RECOVERY_INITIATED",
  payload: { taskId: "t", agentId, fromCheckpoint: null, attempt, because: "process-exited" },
});
const closed = (agentId: string, incident: string): RouseEvent => ({
  type: "INCIDENT_CLOSED",
  payload: { agentId, incident, ending: "recovered", because: "well-again", lastedSeconds: 60 },
});
const asked = (agentId: string, n: number): RouseEvent => ({
  type: "ESCALATION_TRIGGERED",
  payload: {
    agentId,
    escalation: `${agentId}.${n}`,
    incident: `${agentId}/${n}`,
    reason: "nudges-unanswered",
    severity: "SEV-3",
    answerWithinSeconds: 900,
  },
});

const past: readonly RouseEvent[] = [
  closed("a", "a/1"),
  began("a", 1),
  { type: "RECOVERY_FAILED", payload: { taskId: "t", agentId: "a", reason: "restart-failed", attempts: 1 } },
  began("a", 2),
  began("a", 3),
  {
    type: "RECOVERY_COMPLETED",
    payload: {
      taskId: "t",
      agentId: "a",
      newAgentId: "a",
      incarnation: 2,
      fromCheckpoint: null,
      step: null,
      lost,
      tookSeconds: 3,
    },
  },
  began("b", 1),
  {
    type: "FLEET_INCIDENT_CLOSED",
    payload: { incident: "fleet/1", scope: "fleet", because: "all-heard", came: 5, lastedSeconds: 90 },
  },
  asked("a", 1),
  {
    type: "ESCALATION_DECIDED",
    payload: { agentId: "a", escalation: "a.1", decision: "allow_more_time", actor: "ada", reason: "long build" },
  },
  asked("a", 2),
  closed("a", "a/2"),
];

let app: FastifyInstance;
let monitor: Monitor;

beforeEach(async () => {
  const disk = createMemoryDisk();
  const store = await openMemoryStore(disk);
  const events = past.map((event, n) => ({
    id: n + 1,
    time: n * 1000,
    agentId: (event.payload as { agentId?: string }).agentId ?? null,
    event,
  }));
  await store.commit({ ...emptyCommit, events });
  await store.close();
  const { table, monitor: started } = await tableOfMonitor(disk);
  monitor = started;
  app = serveTable(table);
});
afterEach(async () => {
  await app.close();
  await monitor.stop();
});

const get = async (path: string) => (await app.inject(`/api/v1/${path}`)).json();

describe("incidents", () => {
  it("that are over are told from the last back, those of the fleet among them, page by page", async () => {
    const first = IncidentList.parse(await get("incidents?state=closed&limit=2"));
    expect(first.incidents).toMatchObject([
      { id: "a/2", agentId: "a", ending: "recovered", because: "well-again", closedAt: "1970-01-01T00:00:11.000Z" },
      { id: "fleet/1", of: "fleet", scope: "fleet", came: 5, because: "all-heard" },
    ]);
    const rest = IncidentList.parse(await get(`incidents?state=closed&limit=2&cursor=${first.next}`));
    expect(rest).toMatchObject({ incidents: [{ id: "a/1" }], next: null });
    expect((await get("incidents?state=closed&agentId=a")).incidents).toHaveLength(2);
    expect((await get("incidents?state=closed&agentId=nobody")).incidents).toEqual([]);
  });

  it("that are open are told with what is done about them", async () => {
    expect(await get("incidents")).toEqual({ incidents: [], next: null });
    for (const agentId of ["w", "v"]) {
      await monitor.register({ agentId });
      await monitor.help.orders.escalate(agentId, "owner", "it looks odd");
    }
    const first = IncidentList.parse(await get("incidents?limit=1"));
    expect(first.incidents).toMatchObject([{ state: "open", of: "agent", agentId: "w", escalation: "w.1" }]);
    const second = await get(`incidents?limit=1&cursor=${first.next}`);
    expect(second).toMatchObject({ incidents: [{ agentId: "v" }], next: null });
    expect((await get("incidents?state=open&agentId=v")).incidents).toHaveLength(1);
    expect((await get("incidents?state=shut")).code).toBe("bad-request");
  });
});

describe("recoveries", () => {
  it("are told attempt by attempt, the last first, with what came of each", async () => {
    const { recoveries } = RecoveryList.parse(await get("recoveries"));
    expect(recoveries.map(({ agentId, attempt, outcome }) => `${agentId} ${attempt} ${outcome}`)).toEqual([
      "b 1 under-way",
      "a 3 completed",
      "a 2 tried-again",
      "a 1 failed",
    ]);
    expect(recoveries[1]).toMatchObject({ completed: { incarnation: 2, tookSeconds: 3 }, endedAt: expect.any(String) });
    expect(recoveries[3]).toMatchObject({ failed: { reason: "restart-failed" } });
    const page = await get("recoveries?agentId=a&limit=1");
    expect((await get(`recoveries?agentId=a&limit=1&cursor=${page.next}`)).recoveries).toMatchObject([{ attempt: 2 }]);
  });
});

describe("escalations that are over", () => {
  it("are told from the last back with how they ended; one that is open is not among them", async () => {
    await monitor.register({ agentId: "w" });
    await monitor.help.orders.escalate("w", "owner", "it looks odd");
    const { escalations, next } = EscalationList.parse(await get("escalations?state=closed"));
    expect(escalations).toMatchObject([
      { id: "a.2", reason: "nudges-unanswered", ended: { how: "incident-closed", ending: "recovered" } },
      { id: "a.1", ended: { how: "decided", decision: "allow_more_time", actor: "ada" } },
    ]);
    expect(next).toBeNull();
    const page = await get("escalations?state=closed&agentId=a&limit=1");
    const rest = await get(`escalations?state=closed&agentId=a&limit=1&cursor=${page.next}`);
    expect(rest.escalations.map(({ id }: { id: string }) => id)).toEqual(["a.1"]);
    expect((await get("escalations")).escalations.map(({ id }: { id: string }) => id)).toEqual(["w.1"]);
  });
});
