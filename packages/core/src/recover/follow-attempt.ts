import type { CallEnd, MonoMs } from "@rouse/contract";
import { isIll } from "../assess/health-machine.ts";
import type { Context } from "../context.ts";
import { endedWithOthers } from "../decide/choose-response.ts";
import type { RecoveryGate } from "../incident.ts";
import { type Intervened, unchanged } from "../intervene/alert-life.ts";
import { endedAtLimit } from "../limit.ts";
import { type AgentRecord, isOver } from "../record.ts";
import { endAttempt, gateAgesOutAt, reopenGate } from "../recovery-gate.ts";
import type { Signal } from "../signal.ts";

type Attempt = NonNullable<RecoveryGate["attempt"]>;

/** How the last attempt to bring the agent back ended, once that is known, and a person's reset. */
export function followAttempt(record: AgentRecord, signal: Signal, context: Context): Intervened {
  const { gate } = record.recovery;
  if (gate === null) return unchanged(record);
  if (signal.kind === "recovery-reset") return unchanged(withGate(record, reopenGate(gate, context.now)));
  if (gate.attempt !== null) {
    const end = endOf(record, gate.attempt, context);
    return unchanged(end === null ? record : withGate(record, endAttempt(gate, end, context)));
  }
  const agesOutAt = restsUntil(record, gate, context);
  return unchanged(
    agesOutAt !== null && agesOutAt <= context.now ? withGate(record, reopenGate(gate, context.now)) : record,
  );
}

/** When the agent is to be looked at for the sake of its last attempt. */
export function attemptDue(record: AgentRecord, context: Context): MonoMs | null {
  const { gate } = record.recovery;
  if (gate === null) return null;
  if (gate.attempt === null) return restsUntil(record, gate, context);
  return record.life.incarnation > gate.attempt.after ? stoodAt(record, context) : null;
}

/** An attempt that is still to come tries it anyway, so only that of an agent that is up ages out. */
const restsUntil = (record: AgentRecord, gate: RecoveryGate, { policy }: Context): MonoMs | null =>
  isOver(record) ? null : gateAgesOutAt(gate, policy.recovery.breaker);

/**
 * An attempt has failed when nothing was started, when the new life ended like the one before, or relapsed; it went
 * well when the new life stood its probation or finished. `null`: not known yet.
 */
function endOf(record: AgentRecord, { after }: Attempt, context: Context): CallEnd | null {
  const { restart } = record.ending;
  if (record.life.incarnation === after) {
    if (restart === null) return "aborted";
    return restart.problem === null ? null : "failed";
  }
  if (isOver(record)) return endOfLife(record);
  if (record.work.activity.kind === "FINISHED") return "succeeded";
  if (record.ladder.incident?.stage.kind === "probation" && isIll(record.health.state)) return "failed";
  return stoodAt(record, context) <= context.now ? "succeeded" : null;
}

/** An end by a person's hand, at a limit or together with others says nothing about the attempt. */
function endOfLife(record: AgentRecord): CallEnd {
  const { exit = null } = record.seen.terminal ?? {};
  if (exit?.cause === "person" || record.ending.stop?.cause === "ordered") return "aborted";
  if (record.work.activity.kind === "FINISHED") return "succeeded";
  return endedAtLimit(record) || endedWithOthers(record) ? "aborted" : "failed";
}

const stoodAt = ({ life }: AgentRecord, { policy }: Context): MonoMs => life.bornAt + policy.recovery.probation;

const withGate = (record: AgentRecord, gate: RecoveryGate | null): AgentRecord => ({
  ...record,
  recovery: { ...record.recovery, gate },
});
