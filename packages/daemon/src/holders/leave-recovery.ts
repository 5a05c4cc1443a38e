import { readFileSync, rmSync } from "node:fs";
import { type LostWork, RecoveryContext } from "@rouse/contract";
import { isToldByTyping, resumeCommand, takesUpConversation } from "@rouse/core";
import { holderFiles, type Spec, writeWhole } from "@rouse/holder";
import type { Revival } from "../ports/holders.ts";

/** What a life is told of how it came to be; the same words in its environment and in a file. */
export interface LeftRecovery {
  readonly context: RecoveryContext;
  /** One line of JSON. */
  readonly line: string;
}

/** Puts what the next life goes on with where it finds it. Written before it is started. */
export function leaveRecovery(home: string, agentId: string, incarnation: number, revival: Revival): LeftRecovery {
  const files = holderFiles(home, agentId);
  rmSync(files.recoveryState, { force: true });
  if (revival.state !== null) writeWhole(files.recoveryState, revival.state);
  const stateFile = revival.state === null ? null : files.recoveryState;
  const context: RecoveryContext = { ...revival.context, stateFile };
  const line = JSON.stringify(context);
  writeWhole(files.recovery, `${JSON.stringify({ incarnation, ...context }, null, 2)}\n`);
  return { context, line };
}

/** What a life that was started already had been told; `null` for one that began by itself. */
export function readRecovery(home: string, agentId: string, incarnation: number): RecoveryContext | null {
  try {
    const left = JSON.parse(readFileSync(holderFiles(home, agentId).recovery, "utf8")) as { incarnation?: unknown };
    if (left.incarnation !== incarnation) return null;
    const parsed = RecoveryContext.safeParse(left);
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** How the next life begins: with which command, and what becomes of the conversation that its program kept. */
export interface NextLife {
  /** `null`: with the command it was given. */
  readonly resumed: readonly string[] | null;
  readonly session: string | null;
  /** What its program is told at its input, where its command cannot say it. */
  readonly opening: string | null;
  readonly conversation: LostWork["conversation"];
}

/** A life that ended before it told of its conversation was in the one it was resumed with. What its program lacks, or cannot bear to go on with, is not asked for again. */
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
  // The same command may go on with it as well, unless that is what its program could not do.
  const isTakenUp = lacked === null && sessionFull !== true && takesUpConversation(family, command);
  const kept = resumed !== null || isTakenUp ? "kept" : "lost";
  const conversation = family === "generic" || family === "aider" ? undefined : kept;
  return { resumed, session: resumed === null ? null : session, opening, conversation };
}

/** Told with what else was lost. */
export const withConversation = (revival: Revival, { conversation }: NextLife): Revival =>
  conversation === undefined
    ? revival
    : { ...revival, context: { ...revival.context, lost: { ...revival.context.lost, conversation } } };

/** Facts in fixed words. */
function wordRecovery({ reason, step, lost }: RecoveryContext): string {
  const done =
    step === null
      ? "No checkpoint of your task can be used."
      : `The last step that is known to be completed is step ${step}.`;
  const without = lost.checkpoints === 0 ? "" : ` ${lost.checkpoints} newer checkpoints could not be used.`;
  return `You were stopped and started again (${reason}). ${done}${without} Look at the state of your work and go on after it.`;
}
