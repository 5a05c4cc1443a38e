import { z } from "zod";

/** Whom a caller says it is. A word beside the truth: who authenticated is known from the token. */
export const CallerName = z.string().min(1).max(100);

/**
 * One line of the audit trail: an intervention, a refusal, or something a person did. `hash` is the SHA-256 of the canonical JSON (RFC 8785) of
 * all the rest but `signature`, so each line vouches for every line before it; terminations are signed besides.
 */
export const AuditRecord = z
  .object({
    number: z.number().int(),
    time: z.string(),
    /** Who authenticated: `rouse` itself, `owner`, `orchestrator:NAME`, `viewer:NAME`, `agent:ID`. Whom a caller says it is stands in `evidence.as`. */
    actor: z.string(),
    action: z.string(),
    /** The agent, task or escalation it was about. */
    subject: z.string().nullable(),
    reason: z.string(),
    /** Numbers and fixed words: what it rested on. */
    evidence: z.record(z.string(), z.unknown()),
    policy: z.string().nullable(),
    before: z.string(),
    hash: z.string(),
    /** Ed25519 over the hash, base64; only on terminations. */
    signature: z.string().nullable(),
  })
  .meta({ id: "AuditRecord" });
export type AuditRecord = z.infer<typeof AuditRecord>;

export const AuditList = z.object({ entries: z.array(AuditRecord) }).meta({ id: "Audit" });

export const AuditVerdict = z
  .object({
    sound: z.boolean(),
    entries: z.number().int(),
    signatures: z.number().int(),
    /** Older lines were removed by retention: the first one vouches for them by its `before`. */
    beginsAt: z.number().int().nullable(),
    problems: z.array(z.object({ number: z.number().int().nullable(), problem: z.string() })),
  })
  .meta({ id: "AuditVerdict" });
export type AuditVerdict = z.infer<typeof AuditVerdict>;
