import type { EvidenceClass, MonoMs, Policy, StopCause, StopRefusal } from "@rouse/contract";
import { beatRhythm } from "../accept/beat-rhythm.ts";
import { type Doubt, lastGap } from "../doubt.ts";
import type { AgentRecord, Finding } from "../record.ts";
import type { Signal } from "../signal.ts";

/** Whether to stop an agent's processes, and if not, why not although something argues for it. */
export type StopDecision =
  | {
      readonly kind: "stop";
      readonly cause: StopCause;
      readonly key: string;
      readonly actor: string;
      readonly thenRestart: boolean;
    }
  | {
      readonly kind: "refuse";
      readonly cause: StopCause;
      readonly because: StopRefusal;
      /** When the reason ends by itself. */
      readonly until: MonoMs | null;
    }
  | { readonly kind: "nothing" };

const nothing: StopDecision = { kind: "nothing" };

/** A person's order first; otherwise what the findings argue for and the policy allows. */
export function chooseStop(
  record: AgentRecord,
  signal: Signal,
  now: MonoMs,
  policy: Policy,
  doubt: Doubt,
): StopDecision {
  if (record.terminal === null) return nothing;
  if (signal.kind === "ordered") return obey(record, signal, doubt);
  if (record.terminal.exit !== null || isStopping(record)) return nothing;
  const cause = causeToStop(record, policy);
  if (cause === undefined) return nothing;
  const because = whyNot(record, now, policy, doubt);
  if (because !== null) {
    const until = because === "monitor-in-doubt" ? doubtEnds(record, policy, doubt) : null;
    return { kind: "refuse", cause, because, until: until !== null && until > now ? until : null };
  }
  const key = `${record.agentId}/${record.incarnation}/stop/${cause}`;
  return { kind: "stop", cause, key, actor: "rouse", thenRestart: false };
}

const causes: Readonly<Partial<Record<Finding["kind"], StopCause>>> = {
  "repeated-error": "repeated-error",
  "completion-timeout": "completion-timeout",
};

function causeToStop(record: AgentRecord, policy: Policy): StopCause | undefined {
  return record.findings
    .filter(({ level }) => level !== "note" && level !== "degraded")
    .map(({ kind }) => causes[kind])
    .find((cause) => cause !== undefined && (cause !== "repeated-error" || policy.terminal.stopOnRepeatedError));
}

function obey(record: AgentRecord, signal: Extract<Signal, { kind: "ordered" }>, doubt: Doubt): StopDecision {
  const thenRestart = signal.order === "restart";
  if (doubt.frozen) return { kind: "refuse", cause: "ordered", because: "frozen", until: null };
  // Nothing is left to stop, but to start it again there need be nothing.
  if (record.terminal?.exit != null)
    return thenRestart ? nothing : { kind: "refuse", cause: "ordered", because: "already-over", until: null };
  return { kind: "stop", cause: "ordered", key: signal.key, actor: signal.actor, thenRestart };
}

const isStopping = (record: AgentRecord): boolean => record.stop !== null;

/** Each condition is a refusal with a name, checked at the moment of the decision. The holder checks identity once more at the signal. */
function whyNot(record: AgentRecord, now: MonoMs, policy: Policy, doubt: Doubt): StopRefusal | null {
  if (doubt.frozen) return "frozen";
  if (policy.mode !== "act") return "mode";
  if ((record.terminal?.attached ?? 0) > 0) return "attached";
  if (isInDoubt(record, now, policy, doubt)) return "monitor-in-doubt";
  return kindsOfEvidence(record).size < 2 ? "one-kind-of-evidence" : null;
}

/** A monitor that has just been blind, or does not trust its own path, stops nobody. */
function isInDoubt(record: AgentRecord, now: MonoMs, policy: Policy, doubt: Doubt): boolean {
  if (doubt.hold !== null || record.terminal?.holder !== "here") return true;
  const ends = doubtEnds(record, policy, doubt);
  return ends !== null && now < ends;
}

function doubtEnds(record: AgentRecord, policy: Policy, doubt: Doubt): MonoMs | null {
  const gap = lastGap(doubt);
  return gap === null ? null : gap.to + beatRhythm(record.activity, policy).ttl + policy.amnestyMargin;
}

/** An error that repeats with nothing new between rests on two things: what was said, and that nothing else was. Quiet processes are a third. */
export function kindsOfEvidence(record: AgentRecord): ReadonlySet<EvidenceClass> {
  const kinds = new Set<EvidenceClass>();
  for (const finding of record.findings) {
    if (finding.level === "note") continue;
    kinds.add(finding.class);
    if (finding.kind === "repeated-error" && finding.level === "stuck") kinds.add("no-progress");
  }
  const tree = record.terminal?.tree ?? null;
  if (tree !== null && kinds.size > 0 && tree.busyAt + quietFor <= tree.at) kinds.add("resource");
  return kinds;
}

/** Processes that did next to nothing for this long are quiet. */
const quietFor = 120_000;
