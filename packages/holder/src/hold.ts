import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import {
  type ExitStatus,
  Fault,
  type HolderInfo,
  printable,
  type RunningProcess,
  type SharedTurn,
  type StopOutcome,
} from "@rouse/contract";
import { type Claim, claimWhenFree, ourClaim } from "./claim-name.ts";
import { findCommand } from "./find-command.ts";
import { type HolderLog, openHolderLog } from "./holder-log.ts";
import { containAgent } from "./nudge/contain-agent.ts";
import { giveNudges, sayOpening, waysToReach } from "./nudge/give-nudge.ts";
import { openOutputRing } from "./output/output-ring.ts";
import { awaitLeftovers } from "./processes/await-leftovers.ts";
import { stopTree } from "./processes/stop-tree.ts";
import { createTreeWatch, type TreeWatch } from "./processes/watch-tree.ts";
import type { CodexScreen } from "./program/find-codex-turn.ts";
import { watchProgram } from "./program/watch-program.ts";
import { admitMonitors } from "./protocol/admit-monitors.ts";
import { type HolderFiles, holderFiles, makeSecret } from "./protocol/holder-files.ts";
import { type HolderFile, inputOf, type ProcessId, type Spec, type WatchSettings, wishesOf } from "./protocol/spec.ts";
import { obeyOrders } from "./socket/obey-orders.ts";
import { linger, listenAt, placeSocket, serve } from "./socket/serve-socket.ts";
import { readAgain } from "./socket/show-output.ts";
import { startAgent } from "./start-agent.ts";
import type { Ended } from "./terminal/agent-process.ts";
import { type Foreground, tendTerminal } from "./terminal/tend-terminal.ts";
import { compilePatterns } from "./watch/compile-patterns.ts";
import { keepReports } from "./watch/keep-reports.ts";
import { openEyes } from "./watch/open-eyes.ts";
import { watchAgent } from "./watch/watch-agent.ts";
import { reserveExit, writeWhole } from "./write-whole.ts";

interface HoldOptions {
  /** The process that took the name for us. */
  readonly from?: ProcessId | null;
  /** Called when the agent runs and the socket answers. */
  readonly ready?: (file: HolderFile) => void;
}

/** How long viewers may take for the rest of the output. */
const partingMs = 2000;

/** How long an agent has to end by itself when `rouse run` is told to end. */
const ownGraceMs = 10_000;

/**
 * Starts an agent and keeps it until it has ended: its terminal, its output, its exit status. `near` is the terminal
 * that the agent was started from, when this process is `rouse run`.
 */
export async function hold(
  spec: Spec,
  home: string,
  near: Foreground | null,
  { from = null, ready = () => {} }: HoldOptions = {},
): Promise<ExitStatus> {
  findCommand(spec.command[0] ?? "", spec.cwd, spec.env);
  const files = holderFiles(home, spec.agentId);
  const mark = randomBytes(16).toString("hex");
  const wanted = ourClaim(spec, { socket: placeSocket(files.folder), mark, store: spec.store ?? null });
  const claim = await claimWhenFree(home, wanted, from);
  try {
    if (near !== null) writeWhole(files.spec, JSON.stringify(spec));
    return await holdClaimed(spec, files, claim, near, ready);
  } catch (error) {
    // Only a failed start releases the name. After a whole life holder.json stays: it says who the agent was, and the
    // name is free once this process is gone.
    claim.release();
    if (error instanceof Fault || (error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new Fault("data-folder-unusable", `${spec.agentId} cannot be held: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function holdClaimed(
  spec: Spec,
  files: HolderFiles,
  claim: Claim,
  near: Foreground | null,
  ready: (file: HolderFile) => void,
): Promise<ExitStatus> {
  const books = await openBooks(spec, files, claim.file.socket);
  try {
    const held = await attend(spec, files, claim, near, books);
    ready(claim.file);
    const exit = await held.exit;
    await held.conclude(exit);
    return exit;
  } finally {
    books.server.close();
    books.note.close();
    await books.ring.close();
  }
}

type Books = Awaited<ReturnType<typeof openBooks>>;

/** Opens everything that is written to during the agent's life, before the agent runs. */
async function openBooks(spec: Spec, files: HolderFiles, socket: string) {
  const log = openHolderLog(files.folder);
  const onFault = (fault: Error | null) => fault !== null && log("output cannot be kept", fault);
  const note = reserveExit(files.exit);
  const secret = makeSecret(files.secret); // before anybody can connect
  const server = await listenAt(socket);
  const ring = openOutputRing(files, { keepBytes: spec.keepBytes, keepHistory: true, onFault });
  return { log, note, secret, server, ring };
}

async function attend(spec: Spec, files: HolderFiles, claim: Claim, near: Foreground | null, books: Books) {
  const { log, note, ring, secret, server } = books;
  const terminal = await tendTerminal(spec, near);
  const program = await watchProgram(spec, files.plugin, log);
  const reports = keepReports();
  let exit: ExitStatus | null = null;
  /** The agent's own process has ended. */
  let over = false;
  let heard = 0;

  let sayEnded: (how: Ended) => void = () => {};
  const ended = new Promise<Ended>((resolve) => {
    sayEnded = resolve;
  });
  const agent = await startAgent(spec, program, terminal.size(), claim.file.mark, {
    wrote(stream, bytes) {
      const offset = ring.end();
      ring.write(bytes, Date.now());
      near?.show(stream, bytes);
      service.wrote(offset, bytes);
      watch.wrote(stream, bytes);
    },
    ended: sayEnded,
  });
  const tree = createTreeWatch(agent.root);
  const leftovers = awaitLeftovers(tree, () => watch.tellSoon());
  const eyes = openEyes(tree, spec, files.home, log);
  const stop = (graceMs: number) => stopAgent(tree, graceMs, program.codexScreen(), log);
  /** The stop under way because `rouse run` was told to end. */
  let ending: Promise<void> | null = null;
  const attempt = (problem: string, act: () => void): void => {
    try {
      act();
    } catch (error) {
      log(problem, error);
    }
  };
  const isOver = (): boolean => over || orders.stopping();
  const ways = waysToReach(spec, agent.process, terminal, program, { over: isOver, watch: () => watch });
  const nudges = giveNudges(ways);
  const { family, hooksOpen } = program;
  const containment = containAgent({ family, ways, hooksOpen, over: isOver, now: Date.now });
  const admission = admitMonitors(spec.store ?? null, (store) =>
    attempt("whose agent it is could not be written down", () => claim.amend({ store })),
  );
  const orders = obeyOrders(files.orders, spec.incarnation, {
    refuses: admission.refuses,
    attached: () => spec.foreground || terminal.attached() > 0,
    movedSince: (at) => watch.movedSince(at),
    stop,
    nudge: (id, { text, notAfter, whenIdle }, begin) =>
      nudges.give({ id, text, notAfter, whenIdle: whenIdle ?? false, begin }),
    withdraw: nudges.withdraw,
    contain: containment.obey,
  });
  const watch = watchAgent(spec, {
    screen: terminal.screen,
    reports,
    bytes: () => ring.end() - ring.lifeStart(),
    kept: ring.kept,
    attached: terminal.attached,
    facts: eyes.facts,
    program,
    lookAnew: eyes.lookAnew,
    leftovers: leftovers.now,
    tell: (report) => service.report(report),
    fault: log,
  });
  const service = serve(server, {
    hold: describeHold(spec, claim.file, agent),
    secret,
    admission,
    reports,
    orders,
    output: readAgain(files, ring),
    exit: () => exit,
    paint: terminal.paint,
    type: terminal.type,
    attachedChanged() {
      watch.tellSoon();
      return terminal.fit();
    },
    settings: (settings) => void heed(settings),
    look: () => void watch.lookAnew(),
    heard(seq) {
      heard = Math.max(heard, seq);
      reports.heard(seq);
    },
  });

  /** What to look for; a monitor may change it at any time. */
  let settings = spec.watch;
  const heed = (given: WatchSettings): Promise<void> => {
    settings = given;
    return compilePatterns(settings, program.family(), log).then(watch.usePatterns, (error) =>
      log("patterns are not used", error),
    );
  };

  void heed(settings);
  program.begin(tree, {
    saw: watch.saw,
    patterns: watch.patterns,
    containment,
    runs: (family) => {
      watch.useFamily(family);
      void heed(settings);
    },
  });
  terminal.begin(agent.process, service.sizes, () => {
    ending = stop(ownGraceMs).then(
      () => {},
      (error: unknown) => log("the agent could not be ended", error),
    );
  });
  if (spec.opening !== undefined)
    sayOpening(nudges.give, spec.opening).catch((error: unknown) => log("it could not be told to go on", error));
  claim.amend({ agent: agent.id, tier: agent.tier, cgroup: agent.group?.folder ?? null });
  const passOn = () => agent.process.kill("SIGTERM");
  if (near === null) process.on("SIGTERM", passOn);

  return {
    exit: ended.then(async (how) => {
      over = true;
      const judged = terminal.judge(how, orders.stopping());
      attempt("how the agent ended could not be written down", () =>
        note.write({ incarnation: spec.incarnation, at: Date.now(), exit: judged }),
      );
      if (!orders.stopping()) await settleLeftovers(judged);
      exit = judged;
      return judged;
    }),
    async conclude(how: ExitStatus): Promise<void> {
      eyes.close();
      if (leftovers.now().length > 0) attempt("what it left running could not be written down", noteLeft);
      const shown = terminal.end(how, wordLeftovers(spec.agentId, leftovers.now()));
      await ring.flushed();
      await watch.end(how, program.end);
      const last = reports.lastSeq();
      await Promise.race([service.exited(how), pause(partingMs, undefined, { ref: false })]);
      await linger(near !== null, () => heard >= last, service.watched);
      await Promise.all([orders.settled(), ending]);
      await service.close();
      await shown;
      process.off("SIGTERM", passOn);
      agent.group?.remove();
    },
  };

  /**
   * Stays until the leftovers have ended, but not when the agent may be started again: its end must be known at once.
   * Nor when somebody sits in front of `rouse run` and wants their terminal back.
   */
  async function settleLeftovers(how: ExitStatus): Promise<void> {
    const isDone = how.cause === "person" || (how.code === 0 && spec.restart?.when !== "always");
    try {
      await leftovers.settle(isDone && !terminal.waitedFor());
    } catch (error) {
      log("what the agent left running could not be looked at", error);
    }
  }

  function noteLeft(): void {
    const { known, codexHomes = [] } = tree.root();
    claim.amend({ left: { known: [...known], codexHomes: [...codexHomes] } });
  }
}

function wordLeftovers(agentId: string, left: readonly RunningProcess[]): string | null {
  if (left.length === 0) return null;
  const who = left.map(({ pid, name }) => `${pid} ${printable(name, 40)}`).join(", ");
  return `${agentId} left processes running (${who}); \`rouse terminate ${agentId}\` ends them`;
}

const describeHold = (
  spec: Spec,
  { startedAt, mark }: HolderFile,
  { id: { pid, startTicks }, group }: Awaited<ReturnType<typeof startAgent>>,
): HolderInfo => ({
  agentId: spec.agentId,
  agentType: spec.agentType,
  taskId: spec.taskId,
  policy: spec.policy,
  incarnation: spec.incarnation,
  pid,
  family: spec.family,
  structured: spec.structured,
  foreground: spec.foreground,
  startedAt,
  input: inputOf(spec),
  ...wishesOf(spec),
  identity: { startTicks, mark, cgroup: group?.folder ?? null },
});

/**
 * Ends an agent with all processes it started. A Codex server that others use is spared, or does not belong to the tree
 * at all: the agent's turn in that server is interrupted once the agent's screen is gone and can begin no new turn.
 */
async function stopAgent(
  tree: TreeWatch,
  graceMs: number,
  screen: CodexScreen | null,
  log: HolderLog,
): Promise<StopOutcome> {
  const outcome = await stopTree(tree, { graceMs });
  if (screen === null || outcome.kind === "refused") return outcome;
  const turn = await breakOff(screen).catch((error: unknown): SharedTurn => {
    log("Codex's server could not be asked to break off a turn", error);
    return "may-go-on";
  });
  // `null`: no server listens there, so it could not say more about what was spared.
  if (outcome.kind !== "stopped" || turn === null) return outcome;
  const { sharedTurn: spared, ...rest } = outcome;
  return turn === "none" && spared === undefined ? rest : { ...rest, sharedTurn: turn };
}

/** Loads the code that talks to Codex only here: most agents are other programs. */
async function breakOff(screen: CodexScreen): Promise<SharedTurn | null> {
  const { interruptCodex } = await import("./program/call-codex.ts");
  return interruptCodex(screen);
}
