import { type AgentFamily, Fault, printable, type RecoveryContext, type RunningProcess } from "@rouse/contract";
import {
  createTreeWatch,
  findLeftovers,
  type HolderFile,
  hasMark,
  holderFiles,
  isAlive,
  type ProcessInfo,
  readAllProcesses,
  readOutput,
  readStore,
  type Spec,
  stopTree,
} from "@rouse/holder";
import { type StartOptions, startHolder } from "@rouse/holder/start-holder";
import type { RegisteredLife, Revival } from "../ports/holders.ts";
import { environmentFor } from "./agent-environment.ts";
import { leaveRecovery, planNextLife, readRecovery, withConversation } from "./leave-recovery.ts";
import { isHolderAlive, readExitFile, readHolderFile, readSpec, treeOf } from "./read-holder-files.ts";
import { markedTree, registeredTree } from "./registered-tree.ts";

interface StartingHome {
  readonly home: string;
  readonly token: string;
  /** Where the monitor listens now; `null`: none runs, and the agent is given its former address. */
  readonly url: string | null;
  /** `null` where no monitor runs. */
  readonly books: Books | null;
}

/** Where a monitor looks up which processes a file may name, and records which ones it ends. */
export interface Books {
  registered(agentId: string): RegisteredLife | null;
  endsLeftovers(agentId: string, incarnation: number, processes: readonly RunningProcess[]): Promise<void>;
}

const holderLeavesWithin = 10_000;
const leftoverGraceMs = 10_000;

/**
 * Starts the next life of an agent: same command, folder and environment. Called again after the same life, it starts
 * nothing twice, but tries again what never began. An agent that was started in a person's terminal comes back in one
 * of its own.
 */
export async function startAgain(
  { home, token, url, books }: StartingHome,
  agentId: string,
  afterIncarnation: number,
  revival: Revival | null = null,
  options: StartOptions = {},
): Promise<{ incarnation: number; recovery: RecoveryContext | null }> {
  const spec = readSpec(home, agentId);
  if (spec === null) throw new Fault("not-supervised", `nothing is written down of how ${agentId} was started`);
  const isWritten = spec.incarnation > afterIncarnation;
  if (isWritten && hasBegun(home, spec))
    return { incarnation: spec.incarnation, recovery: readRecovery(home, agentId, spec.incarnation) };
  await untilHolderLeft(home, agentId);
  await endLeftovers(home, agentId, books);
  const incarnation = isWritten ? spec.incarnation : spec.incarnation + 1;
  const where = url ?? spec.env["ROUSE_URL"] ?? "";
  const plan = revival === null ? null : planNextLife(spec, revival, lackedConversation(home, spec));
  const left =
    revival === null || plan === null
      ? null
      : leaveRecovery(home, agentId, incarnation, withConversation(revival, plan));
  const life = { agentId, taskId: spec.taskId, incarnation };
  const env = environmentFor(spec.env, life, { url: where, token, home }, left?.line);
  // `command` stays as it was given: each life is resumed from it.
  const { resumed: _, session: __, opening: ___, ...first } = spec;
  const next: Spec = {
    ...first,
    incarnation,
    store: url === null ? null : (readStore(home)?.store ?? null),
    env,
    foreground: false,
    io: "terminal",
    ...(plan?.resumed == null ? {} : { resumed: [...plan.resumed] }),
    ...(plan?.session == null ? {} : { session: plan.session }),
    ...(plan?.opening == null ? {} : { opening: plan.opening }),
  };
  await startHolder(home, next, options);
  return { incarnation, recovery: left?.context ?? null };
}

/** How the life after this one would be started; `null` when that has begun, or nothing is known about it. */
export function lifeToCome(home: string, agentId: string, afterIncarnation: number): Spec | null {
  const spec = readSpec(home, agentId);
  return spec === null || (spec.incarnation > afterIncarnation && hasBegun(home, spec)) ? null : spec;
}

/** A spec is written before its life is started. That the life began shows in holder.json or exit.json. */
function hasBegun(home: string, { agentId, incarnation }: Spec): boolean {
  const file = readHolderFile(home, agentId);
  const isHeld = file?.incarnation === incarnation && (file.agent !== null || isHolderAlive(file));
  return isHeld || readExitFile(home, agentId)?.incarnation === incarnation;
}

/** A holder stays for a moment after its agent ended, to report the end. */
async function untilHolderLeft(home: string, agentId: string): Promise<void> {
  const deadline = Date.now() + holderLeavesWithin;
  for (;;) {
    const file = readHolderFile(home, agentId);
    if (file === null) return;
    const isAlone = !isHolderAlive(file);
    const unnamed = isAlone ? findUnnamed(file) : null;
    if (isAlone && unnamed === null) return;
    const isOver = readExitFile(home, agentId)?.incarnation === file.incarnation;
    if (!isOver || Date.now() > deadline)
      throw new Fault(
        "name-taken",
        `${agentId} still runs (process ${unnamed ?? file.agent?.pid ?? file.holder.pid}); stop it first`,
      );
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Leftovers of the last life would go on with the same work beside the next. */
async function endLeftovers(home: string, agentId: string, books: Books | null): Promise<void> {
  const file = readHolderFile(home, agentId);
  const named = file === null || file.mark === "" ? null : treeOf(file);
  if (file === null || named === null) return;
  const left = await findLeftovers(createTreeWatch(named));
  if (left.length === 0) return;
  const tree = books === null ? markedTree(file) : registeredTree(file, books.registered(agentId));
  if (tree === null) throw notRegistered(home, agentId, left);
  await books?.endsLeftovers(agentId, file.incarnation, left);
  const outcome = await stopTree(tree, { graceMs: leftoverGraceMs });
  if (outcome.kind !== "termination_incomplete") return;
  const pids = outcome.survivors.map(({ pid }) => pid).join(", ");
  throw new Fault("name-taken", `processes of ${agentId} still run and cannot be ended (${pids})`);
}

function notRegistered(home: string, agentId: string, named: readonly ProcessInfo[]): Fault {
  const who = named.map(({ pid, name }) => `${pid} ${printable(name, 40)}`).join(", ");
  return new Fault(
    "name-taken",
    `${holderFiles(home, agentId).holder} names processes that were never registered for ${agentId} (${who}); none was signalled. ` +
      "End those that are its own yourself, remove the file, and start it again",
  );
}

/** A holder that was killed between starting its agent and noting the pid leaves a process that only its mark shows. */
function findUnnamed({ agent, mark }: HolderFile): number | null {
  if (agent !== null || mark === "") return null;
  return readAllProcesses().find((info) => isAlive(info) && hasMark(info.pid, mark))?.pid ?? null;
}

/** What each program prints when it does not have a conversation, or no longer. */
const words: Partial<Record<AgentFamily, RegExp>> = {
  "claude-code": /No conversation found (?:with session ID|to continue)/,
  codex: /no rollout found for thread id/,
  opencode: /Session not found/,
  "gemini-cli": /Error resuming session: No previous sessions found/,
};

/** In bytes. A program that cannot resume prints little else. */
const mostWritten = 16_384;

/**
 * The conversation that the last life should have resumed and that its program does not have: it was killed before that
 * was saved, or it was deleted. To resume it again would fail for ever. Empty: the command named none. `null`: the life
 * ended for another reason.
 */
function lackedConversation(home: string, { agentId, family, session }: Spec): string | null {
  const failed = (readExitFile(home, agentId)?.exit.code ?? 0) !== 0;
  if (!failed) return null;
  return words[family]?.test(outputOf(home, agentId)) ? (session ?? "") : null;
}

/** Empty when the output cannot be read or is long: in long output the words may be what a tool printed. */
function outputOf(home: string, agentId: string): string {
  try {
    const files = holderFiles(home, agentId);
    const from = readOutput(files, { from: null, limit: 0 })?.lifeStart ?? null;
    const written = readOutput(files, { from, limit: mostWritten + 1 })?.bytes;
    return written === undefined || written.length > mostWritten ? "" : written.toString("utf8");
  } catch {
    return "";
  }
}
