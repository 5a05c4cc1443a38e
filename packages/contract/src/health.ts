import { z } from "zod";
import {
  activityKinds,
  evidenceClasses,
  findingKinds,
  findingLevels,
  healthReasons,
  healthStates,
} from "./health-words.ts";

export const HealthState = z.enum(healthStates).meta({ id: "HealthState" });
export type HealthState = z.infer<typeof HealthState>;

/** What a waiting agent waits for. */
export const WaitKind = z.enum(["input", "provider", "children", "schedule"]).meta({ id: "WaitKind" });
export type WaitKind = z.infer<typeof WaitKind>;

/** What a running agent has open: it is the model's or the tool's turn to produce the next event. */
export const OpenWork = z
  .object({
    kind: z.enum(["model", "tool"]),
    name: z.string().max(200).optional(),
    timeoutSeconds: z.number().nonnegative().max(604_800).optional(),
  })
  .meta({ id: "OpenWork" });
export type OpenWork = z.infer<typeof OpenWork>;

/** Activity decides which clock runs. `EXITED` is only shown: the process ended, and the agent has not finished. */
export const ActivityKind = z.enum(activityKinds).meta({ id: "ActivityKind" });
export type ActivityKind = z.infer<typeof ActivityKind>;

export const ActivityReport = z
  .object({
    kind: ActivityKind,
    since: z.string(),
    open: OpenWork.optional(),
    for: WaitKind.optional(),
    until: z.string().optional(),
    /** For a wait that was read off its terminal: whether a field of its stream says so, or only words. */
    by: z.enum(["text", "stream"]).optional(),
  })
  .meta({ id: "Activity" });
export type ActivityReport = z.infer<typeof ActivityReport>;

export const FindingLevel = z.enum(findingLevels).meta({ id: "FindingLevel" });
export type FindingLevel = z.infer<typeof FindingLevel>;

export const FindingKind = z.enum(findingKinds).meta({ id: "FindingKind" });
export type FindingKind = z.infer<typeof FindingKind>;

export const EvidenceClass = z.enum(evidenceClasses).meta({ id: "EvidenceClass" });
export type EvidenceClass = z.infer<typeof EvidenceClass>;

/**
 * Why a finding argues for less than it could: the monitor doubts itself, the agent announced that it would be quiet,
 * or it is part of a fleet incident.
 */
export const Restraint = z
  .enum([
    "amnesty",
    "mass-silence",
    "mass-failure",
    "gathering",
    "path-unproven",
    "unwitnessed",
    "open-work",
    "waiting",
    "starting",
  ])
  .meta({ id: "Restraint" });
export type Restraint = z.infer<typeof Restraint>;

export const FindingReport = z
  .object({
    kind: FindingKind,
    level: FindingLevel,
    confidence: z.number().min(0).max(1),
    class: EvidenceClass,
    text: z.string(),
    evidence: z.record(z.string(), z.union([z.number(), z.string()])),
    since: z.string(),
    restrainedBy: Restraint.optional(),
  })
  .meta({ id: "Finding" });
export type FindingReport = z.infer<typeof FindingReport>;

export const HealthReason = z.enum(healthReasons).meta({ id: "HealthReason" });
export type HealthReason = z.infer<typeof HealthReason>;
