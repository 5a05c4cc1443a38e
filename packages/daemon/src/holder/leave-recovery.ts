import { readFileSync, rmSync } from "node:fs";
import { RecoveryContext } from "@rouse/contract";
import { resumeCommand } from "@rouse/core";
import type { Revival } from "../ports/holders.ts";
import { holderFiles } from "./holder-files.ts";
import type { Spec } from "./spec.ts";
import { writeWhole } from "./write-whole.ts";

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

/** For a program that keeps its conversations, the command that goes on with the last; `null` for every other. */
export function commandAfter({ family, command }: Spec, { session, context }: Revival): readonly string[] | null {
  return session === null ? null : resumeCommand(family, command, session, wordRecovery(context));
}

/** Facts in fixed words. */
function wordRecovery({ reason, step, lost }: RecoveryContext): string {
  const done =
    step === null
      ? "No checkpoint of your task can be used."
      : `The last step that is known to be completed is step ${step}.`;
  const without = lost.checkpoints === 0 ? "" : ` ${lost.checkpoints} newer checkpoints could not be used.`;
  return `You were stopped and started again (${reason}). ${done}${without} Look at the state of your work and go on after it.`;
}
