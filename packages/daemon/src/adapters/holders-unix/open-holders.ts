import { type FSWatcher, mkdirSync, watch } from "node:fs";
import {
  type DurationMs,
  Fault,
  type Hold,
  type NudgeDelivery,
  type NudgeRefusal,
  type StopOutcome,
  seconds,
} from "@rouse/contract";
import { connectHolder, NotUnderstood } from "../../holder/connect-holder.ts";
import { holderFiles, holdersFolder } from "../../holder/holder-files.ts";
import { inputOf } from "../../holder/input-of.ts";
import { isSame } from "../../holder/processes/read-processes.ts";
import { stopTree } from "../../holder/processes/stop-tree.ts";
import { isHolderAlive, listHeld, readHolderFile, readSpec } from "../../holder/read-holder-files.ts";
import { rememberOrders } from "../../holder/remember-orders.ts";
import type { HolderFile, ProcessId, Spec } from "../../holder/spec.ts";
import { startAgain } from "../../holder/start-again.ts";
import type { HolderHome, HolderNews, Holders, NudgeRequest, StopRequest } from "../../ports/holders.ts";
import type { Log } from "../../ports/log.ts";
import { followLife, type Life, tellPastLife } from "./follow-life.ts";

const lookEvery: DurationMs = seconds(1);
const soon: readonly DurationMs[] = [50, 200, 500];
/** Stopping by force takes a moment longer than the grace itself. */
const forceTakes: DurationMs = seconds(20);
/** A long line is typed in pieces, and each may take its time to be seen. */
const nudgeTakes: DurationMs = seconds(30);
const longestNudge = 2000;

/** Holders of this machine, found by their folders and followed over their sockets. */
export function openHolders(home: HolderHome, log: Log): Holders {
  const lives = new Map<string, Life>();
  /** Past lives that were told of, by agent. */
  const told = new Map<string, number>();
  const began = Date.now();
  let news: HolderNews | null = null;
  let epoch = 0;
  let closed = false;
  let timer: NodeJS.Timeout | null = null;
  let watcher: FSWatcher | null = null;

  function look(): void {
    if (news === null) return;
    for (const agentId of listHeld(home.folder)) lookAt(agentId, news);
  }

  /** A new folder is filled within moments; waiting for the next round would leave its agent unknown for a second. */
  function lookSoon(): void {
    for (const delay of soon) setTimeout(look, delay).unref();
  }

  function lookAt(agentId: string, to: HolderNews): void {
    const file = readHolderFile(home.folder, agentId);
    if (file === null || file.agent === null) return;
    if (lives.get(agentId)?.incarnation === file.incarnation || told.get(agentId) === file.incarnation) return;
    lives.get(agentId)?.stop();
    if (isHolderAlive(file)) follow(file, to);
    else tellOfPast(file, to);
  }

  function follow(file: HolderFile, to: HolderNews): void {
    const { agentId, incarnation } = file;
    const adopted = file.startedAt < began;
    const life = followLife(file, { home: home.folder, news: to, epoch, log, adopted });
    lives.set(agentId, life);
    life.over.then(
      (how) => {
        if (lives.get(agentId) === life) lives.delete(agentId);
        if (how === "told") told.set(agentId, incarnation);
        else look();
      },
      (error: unknown) => log.error({ agentId, error: String(error) }, "an agent can no longer be followed"),
    );
  }

  /** It was started and is over (or lost its holder) while no monitor was there; or this monitor knew it and missed the end. */
  function tellOfPast(file: HolderFile, to: HolderNews): void {
    const { agentId, incarnation } = file;
    const known = to.standing(agentId);
    const spec = readSpec(home.folder, agentId);
    const isNews =
      known === null || incarnation > known.incarnation || (incarnation === known.incarnation && !known.over);
    if (!isNews || spec === null || spec.incarnation !== incarnation) return void told.set(agentId, incarnation);
    told.set(agentId, incarnation);
    tellPastLife(home.folder, agentId, holdOf(spec, file), to).catch((error: unknown) => {
      told.delete(agentId);
      if (!(error instanceof Fault))
        log.error({ agentId, error: String(error) }, "the end of an agent could not be told");
    });
  }

  async function stop({ key, agentId, incarnation, grace, unlessAttached }: StopRequest): Promise<StopOutcome> {
    const file = readHolderFile(home.folder, agentId);
    if (file === null || file.agent === null) return { kind: "refused", because: "not-registered" };
    if (file.incarnation !== incarnation) return { kind: "refused", because: "wrong-incarnation" };
    const order = { key, incarnation, epoch, order: { kind: "stop" as const, graceMs: grace, unlessAttached } };
    const line = lives.get(agentId)?.connection() ?? null;
    if (line !== null) return line.order(order, grace + forceTakes);
    if (!isHolderAlive(file)) {
      const told = rememberOrders(holderFiles(home.folder, agentId).orders).stop(key);
      return told ?? stopWithoutHolder(file, file.agent, grace);
    }
    const own = await connectHolder(file.socket, { timeoutMs: 5000 });
    try {
      return await own.order(order, grace + forceTakes);
    } finally {
      own.close();
    }
  }

  async function nudge({ key, agentId, incarnation, text, notAfter }: NudgeRequest): Promise<NudgeDelivery> {
    const file = readHolderFile(home.folder, agentId);
    if (file === null || file.agent === null) return { kind: "not-sent", because: "not-registered" };
    if (!isHolderAlive(file)) {
      const told = rememberOrders(holderFiles(home.folder, agentId).orders).nudge(key);
      return told ?? { kind: "not-sent", because: whyUnreachable(file, file.agent, incarnation) };
    }
    const order = { kind: "nudge" as const, text: text.slice(0, longestNudge), notAfter };
    // A line of its own: one that does not understand hangs up, and orders on the other would go with it.
    const line = await connectHolder(file.socket, { timeoutMs: 5000 });
    try {
      return await line.order({ key, incarnation, epoch, order }, nudgeTakes);
    } catch (error) {
      if (error instanceof NotUnderstood) return { kind: "not-sent", because: "no-input" };
      throw error;
    } finally {
      line.close();
    }
  }

  return {
    async begin(to, itsEpoch) {
      // A monitor that could not start saves its epoch on the way out.
      if (closed) return;
      news = to;
      epoch = itsEpoch;
      const folder = holdersFolder(home.folder);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      watcher = watch(folder, lookSoon);
      watcher.on("error", () => watcher?.close());
      timer = setInterval(look, lookEvery);
      look();
    },
    stop,
    nudge,
    async startAgain(agentId, afterIncarnation, revival) {
      try {
        const from = { home: home.folder, token: home.token, url: home.url() };
        const started = await startAgain(from, agentId, afterIncarnation, revival);
        look();
        return started;
      } catch (error) {
        if (error instanceof Fault) return { problem: error.message };
        throw error;
      }
    },
    folderOf: (agentId) => readSpec(home.folder, agentId)?.cwd ?? null,
    settle(settingsOf) {
      for (const life of lives.values()) {
        const settings = settingsOf(life.agentId);
        if (settings !== null) life.settle(settings);
      }
    },
    lookAnew() {
      for (const life of lives.values()) life.connection()?.lookAnew();
    },
    async close() {
      closed = true;
      news = null;
      if (timer !== null) clearInterval(timer);
      watcher?.close();
      for (const life of lives.values()) life.stop();
      await Promise.allSettled([...lives.values()].map(({ over }) => over));
    },
  };
}

/** Whoever owned its terminal is gone, and the terminal with them. */
function whyUnreachable(file: HolderFile, agent: ProcessId, incarnation: number): NudgeRefusal {
  if (file.incarnation !== incarnation) return "wrong-incarnation";
  return isSame(agent) ? "no-input" : "over";
}

/** The holder is gone, its agent may not be: the same tree, found by what the holder left behind. */
function stopWithoutHolder(
  file: HolderFile,
  agent: NonNullable<HolderFile["agent"]>,
  grace: DurationMs,
): Promise<StopOutcome> {
  const root = { agent, mark: file.mark, cgroup: file.cgroup, ownGroup: 0, useGroup: false, known: [] };
  return stopTree(root, { graceMs: grace });
}

function holdOf(spec: Spec, file: HolderFile): Hold {
  const { agentId, agentType, taskId, policy, incarnation, family, structured, foreground } = spec;
  return {
    agentId,
    agentType,
    taskId,
    policy,
    incarnation,
    family,
    structured,
    foreground,
    input: inputOf(spec),
    pid: file.agent?.pid ?? file.holder.pid,
    startedAt: file.startedAt,
  };
}
