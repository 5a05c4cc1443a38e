import { type HolderInfo, seconds } from "@rouse/contract";
import { newRecord, noDoubt, supervise } from "@rouse/core";
import { expect, it } from "vitest";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { policySubject } from "./choose-policy.ts";

const text = "policies:\n  hasty:\n    heartbeat: { startup_grace_seconds: 30 }\n";
const config = requireConfig(readConfig({ file: { name: "rouse.yaml", text } }));

const hold = (incarnation: number): HolderInfo => ({
  agentId: "a",
  agentType: null,
  taskId: null,
  policy: "hasty",
  incarnation,
  pid: 4242,
  family: "generic",
  structured: false,
  foreground: false,
  startedAt: 0,
});

const fresh = newRecord({ agentId: "a", agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 }, 0);

it("an agent started with a policy has that policy's time to start, from its first moment on", () => {
  const signal = { kind: "held", hold: hold(1), adopted: false } as const;
  const { record } = supervise(fresh, signal, {
    now: 0,
    policy: config.policyFor(policySubject(fresh, signal)),
    doubt: noDoubt,
  });
  expect(record.identity.policy).toBe("hasty");
  expect(record.work.clock.resumesAt).toBe(seconds(30));
});

it("what is left of an earlier life changes nothing of how the present one is judged", () => {
  const record = { ...fresh, life: { ...fresh.life, incarnation: 2 } };
  expect(policySubject(record, { kind: "held", hold: hold(1), adopted: false })).toEqual(policySubject(record));
});
