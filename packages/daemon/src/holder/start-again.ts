import { Fault, type RecoveryContext } from "@rouse/contract";
import type { Revival } from "../ports/holders.ts";
import { environmentFor } from "./agent-environment.ts";
import { commandAfter, leaveRecovery, readRecovery } from "./leave-recovery.ts";
import { isHolderAlive, readExitFile, readHolderFile, readSpec } from "./read-holder-files.ts";
import { startHolder } from "./start-holder.ts";

export interface StartingHome {
  readonly home: string;
  readonly token: string;
  /** Where the monitor listens now; when none does, the agent is told what it was told before. */
  readonly url: string | null;
}

const holderLeavesWithin = 10_000;

/**
 * The next life of an agent: same command, folder and environment. Asked again after the same life, it starts nothing twice. Whoever was started in a
 * person's terminal comes back in one of its own.
 */
export async function startAgain(
  { home, token, url }: StartingHome,
  agentId: string,
  afterIncarnation: number,
  revival: Revival | null = null,
): Promise<{ incarnation: number; recovery: RecoveryContext | null }> {
  const spec = readSpec(home, agentId);
  if (spec === null) throw new Fault("not-supervised", `nothing is written down of how ${agentId} was started`);
  if (spec.incarnation > afterIncarnation)
    return { incarnation: spec.incarnation, recovery: readRecovery(home, agentId, spec.incarnation) };
  await untilHolderLeft(home, agentId);
  const incarnation = spec.incarnation + 1;
  const where = url ?? spec.env["ROUSE_URL"] ?? "";
  const left = revival === null ? null : leaveRecovery(home, agentId, incarnation, revival);
  const env = environmentFor(
    spec.env,
    { agentId, taskId: spec.taskId, incarnation },
    { url: where, token },
    left?.line,
  );
  // The command itself stays as it was given: the next life after this one resumes from it again.
  const { resumed: _, ...first } = spec;
  const resumed = revival === null ? null : commandAfter(spec, revival);
  await startHolder(home, {
    ...first,
    incarnation,
    env,
    foreground: false,
    io: "terminal",
    ...(resumed === null ? {} : { resumed: [...resumed] }),
  });
  return { incarnation, recovery: left?.context ?? null };
}

/** A holder stays for a moment after its agent ended, to tell of it. */
async function untilHolderLeft(home: string, agentId: string): Promise<void> {
  const deadline = Date.now() + holderLeavesWithin;
  for (;;) {
    const file = readHolderFile(home, agentId);
    if (file === null || !isHolderAlive(file)) return;
    const isOver = readExitFile(home, agentId)?.incarnation === file.incarnation;
    if (!isOver || Date.now() > deadline)
      throw new Fault(
        "name-taken",
        `${agentId} still runs (process ${file.agent?.pid ?? file.holder.pid}); stop it first`,
      );
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
