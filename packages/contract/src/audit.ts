import { z } from "zod";
import { Next } from "./page.ts";

/** Who the caller says it is, only for the record: the token shows who authenticated. */
export const CallerName = z.string().min(1).max(100);

/**
 * One line of the audit trail: an intervention, a refusal, something a person did, or a seal. `hash` is the SHA-256 of
 * the canonical JSON (RFC 8785) of all the rest but `signature`, so each line vouches for every line before it; a
 * signed line seals them.
 */
export const AuditRecord = z
  .object({
    number: z.number().int(),
    time: z.string(),
    /**
     * Who authenticated: `rouse` itself, `owner`, `orchestrator:NAME`, `viewer:NAME`, `agent:ID`. Who the caller says
     * it is stands in `evidence.as`.
     */
    actor: z.string(),
    action: z.string(),
    /** The agent, task or escalation it was about. */
    subject: z.string().nullable(),
    reason: z.string(),
    /** Numbers and fixed words that it rested on. */
    evidence: z.record(z.string(), z.unknown()),
    policy: z.string().nullable(),
    before: z.string(),
    hash: z.string(),
    /** Ed25519 over store, number and hash, base64; on stops, on seals and on what retention removed. */
    signature: z.string().nullable(),
  })
  .meta({ id: "AuditRecord" });
export type AuditRecord = z.infer<typeof AuditRecord>;

export const AuditList = z.object({ entries: z.array(AuditRecord), next: Next }).meta({ id: "Audit" });

/** A signed line as it is kept outside the database. It can be checked with the public key alone. */
export const AuditSeal = z
  .object({ time: z.string(), store: z.string(), number: z.number().int(), hash: z.string(), signature: z.string() })
  .meta({ id: "AuditSeal" });
export type AuditSeal = z.infer<typeof AuditSeal>;

const stretch = z.object({ from: z.number().int(), to: z.number().int() });

/** What one anchor says about a trail. `silent`: it holds no seal of it, or cannot be asked. */
export const AnchorVerdict = z.object({
  anchor: z.string(),
  says: z.enum(["agrees", "contradicts", "silent"]),
  /** The newest seal of this trail that it holds. */
  newest: z.object({ number: z.number().int(), time: z.string() }).nullable(),
  problem: z.string().nullable(),
});
export type AnchorVerdict = z.infer<typeof AnchorVerdict>;

export const AuditVerdict = z
  .object({
    sound: z.boolean(),
    entries: z.number().int(),
    signatures: z.number().int(),
    /** Older lines were removed by retention: the first one vouches for them by its `before`. */
    beginsAt: z.number().int().nullable(),
    /** The newest signature; everything up to it is unchanged since it was made. `null`: nothing is sealed. */
    sealed: z.object({ number: z.number().int(), time: z.string() }).nullable(),
    /** Lines from before this Rouse sealed: chained, and sealed only when they were taken over. */
    takenOver: stretch.nullable(),
    /** Lines after the newest signature: chained, not sealed yet. */
    unsealed: stretch.nullable(),
    /** Lines that were not sealed when Rouse died: the next start sealed them as it found them. */
    foundOpen: z.array(stretch),
    anchors: z.array(AnchorVerdict),
    problems: z.array(z.object({ number: z.number().int().nullable(), problem: z.string() })),
    /** What this verdict cannot show, in plain words. */
    cannotShow: z.array(z.string()),
  })
  .meta({ id: "AuditVerdict" });
export type AuditVerdict = z.infer<typeof AuditVerdict>;

const place = z.object({ number: z.number().int(), hash: z.string() });

/** Where the trail ends, signed, and where else that is kept. `publicKey` is PEM. */
export const AuditHead = z
  .object({
    store: z.string(),
    head: place.nullable(),
    told: z.object({ time: z.string(), signature: z.string() }).nullable(),
    removed: place.nullable(),
    publicKey: z.string(),
    /** As configured; addresses without their paths. */
    anchors: z.array(z.string()),
  })
  .meta({ id: "AuditHead" });
