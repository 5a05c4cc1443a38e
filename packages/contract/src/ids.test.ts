import { expect, it } from "vitest";
import { CheckpointId } from "./checkpoint.ts";
import { AgentId, Id } from "./heartbeat.ts";
import { isAgentId, isCheckpointId, isEscalationId, isId } from "./ids.ts";
import { EscalationId } from "./incident.ts";

const hex = "0123456789abcdef".repeat(4);
const given = ["worker-1", "worker-1.3", "worker-1.03", "a".repeat(128), "a".repeat(129), `${"a".repeat(159)}.1`, hex];
const never = [
  "",
  "rouse.canary",
  "..",
  "../x",
  "-a",
  "a b",
  "a\n",
  `${hex}0`,
  hex.toUpperCase().replace("A", "-"),
  undefined,
  null,
  7,
];

it("is an id for whoever asks without a schema exactly when the schema says so", () => {
  for (const id of [...given, ...never]) {
    expect(isId(id), String(id)).toBe(Id.safeParse(id).success);
    expect(isAgentId(id), String(id)).toBe(AgentId.safeParse(id).success);
    expect(isEscalationId(id), String(id)).toBe(EscalationId.safeParse(id).success);
    expect(isCheckpointId(id), String(id)).toBe(CheckpointId.safeParse(id).success);
  }
});
