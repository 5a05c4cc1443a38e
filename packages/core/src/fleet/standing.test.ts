import { policyFrom, settingsOf } from "@rouse/contract";
import { expect, it } from "vitest";
import { noBeats } from "../facts.ts";
import { type AgentRecord, newRecord } from "../record.ts";
import { describeStanding } from "./standing.ts";

const policy = policyFrom("fleet", settingsOf("fleet"));
const birth = { agentId: "a", agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 };
const born = newRecord(birth, 0);
const beating: AgentRecord = { ...born, life: { ...born.life, heard: true }, beats: { ...noBeats, accepted: 3 } };
const exit = { code: 7, signal: null, cause: "exited", at: 5 };

it("one that beats is a member of the fleet, held or not, and none once its process is over", () => {
  const held = (exit: unknown): AgentRecord => ({
    ...beating,
    seen: { ...beating.seen, terminal: { exit } as unknown as AgentRecord["seen"]["terminal"] },
  });
  expect(describeStanding(beating, policy).watched).toBe(true);
  expect(describeStanding(held(null), policy).watched).toBe(true);
  expect(describeStanding(held(exit), policy).watched).toBe(false);
});

it("one that was never heard, has finished, is silent for good or is only held says nothing about the path of beats", () => {
  const { life, work, health, beats, seen } = beating;
  const others: Partial<AgentRecord>[] = [
    { life: { ...life, heard: false } },
    { work: { ...work, activity: { ...work.activity, kind: "FINISHED" } as AgentRecord["work"]["activity"] } },
    { health: { ...health, state: "UNRESPONSIVE" } },
    { health: { ...health, state: "TERMINATED" } },
    {
      beats: { ...beats, accepted: 0 },
      seen: { ...seen, terminal: { exit: null } as unknown as AgentRecord["seen"]["terminal"] },
    },
  ];
  for (const other of others) expect(describeStanding({ ...beating, ...other }, policy).watched).toBe(false);
});

it("one is quiet since its beats are missed, whatever else was found", () => {
  const found = (...kinds: string[]) => {
    const findings = kinds.map((kind, i) => ({ kind, since: i + 1 })) as unknown as AgentRecord["health"]["findings"];
    return describeStanding({ ...beating, health: { ...beating.health, findings } }, policy).quietSince;
  };
  expect([found(), found("no-output"), found("no-output", "missed-beats")]).toEqual([null, null, 2]);
});
