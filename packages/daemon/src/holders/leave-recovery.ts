import { readFileSync, rmSync } from "node:fs";
import { type LostWork, RecoveryContext } from "@rouse/contract";
import { isToldByTyping, resumeCommand, takesUpConversation } from "@rouse/core";
import { holderFiles, type Spec, writeWhole } from "@rouse/holder";
import type { Revival } from "../ports/holders.ts";

/** Writes what the next life is told about its recovery, before it is started. `line`: the same in one line. */
export function leaveRecovery(home: string, agentId: string, incarnation: number, revival: Revival) {
  const files = holderFiles(home, agentId);
  rmSync(files.recoveryState, { force: true });
  if (revival.state !== null) writeWhole(files.recoveryState, revival.state);
  const stateFile = revival.state === null ? null : files.recoveryState;
  const context: RecoveryContext = { ...revival.context, stateFile };
  writeWhole(files.recovery, `${JSON.stringify({ incarnation, ...context }, null, 2)}\n`);
  return { context, line: JSON.stringify(context) };
}

/** What a life that was already started had been told; `null` for a life that is no recovery. */
export function readRecovery(home: string, agentId: string, incarnation: number): RecoveryContext | null {
  try {
    const left = JSON.parse(readFileSync(holderFiles(home, agentId).recovery, "utf8")) as { incarnation?: unknown };
    return left.incarnation === incarnation ? (RecoveryContext.safeParse(left).data ?? null) : null;
  } catch {
    return null;
  }
}

/** How the next life begins: its command, and what becomes of the conversation that its program kept. */
interface NextLife {
  /** `null`: the command of its spec. */
  readonly resumed: readonly string[] | null;
  readonly session: string | null;
  /** A text to type at its input, where the command cannot carry it. */
  readonly opening: string | null;
  readonly conversation: LostWork["conversation"];
}

/**
 * A life that ended before it told of its conversation was in the one it was resumed with. A conversation that the
 * program lacks, or that is too full to go on with, is not resumed again.
 */
export function planNextLife(
  { family, command, session: before }: Spec,
  { session: told, sessionFull, context }: Revival,
  lacked: string | null = null,
): NextLife {
  const last = told ?? before ?? null;
  const session = sessionFull === true || last === lacked ? null : last;
  const words = wordRecovery(context);
  const resumed = session === null ? null : resumeCommand(family, command, session, words);
  const opening = resumed !== null && isToldByTyping(family, command) ? words : null;
  // The command itself may resume the conversation, unless the program could not do that.
  const isTakenUp = lacked === null && sessionFull !== true && takesUpConversation(family, command);
  const kept = resumed !== null || isTakenUp ? "kept" : "lost";
  const conversation = family === "generic" || family === "aider" ? undefined : kept;
  return { resumed, session: resumed === null ? null : session, opening, conversation };
}

/** Adds the fate of the conversation to what was lost. */
export const withConversation = (revival: Revival, { conversation }: NextLife): Revival =>
  conversation === undefined
    ? revival
    : { ...revival, context: { ...revival.context, lost: { ...revival.context.lost, conversation } } };

/** Fixed sentences, filled with facts only. */
function wordRecovery({ reason, step, lost }: RecoveryContext): string {
  const done =
    step === null
      ? "No checkpoint of your task can be used."
      : `The last step that is known to be completed is step ${step}.`;
  const without = lost.checkpoints === 0 ? "" : ` ${lost.checkpoints} newer checkpoints could not be used.`;
  return `You were stopped and started again (${reason}). ${done}${without} Look at the state of your work and go on after it.`;
}
