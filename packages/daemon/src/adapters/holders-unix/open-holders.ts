import { type FSWatcher, mkdirSync, readdirSync, renameSync, rmSync, watch } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  type ContainOutcome,
  type DurationMs,
  Fault,
  type NudgeDelivery,
  type NudgeRefusal,
  type StopOutcome,
  seconds,
} from "@rouse/contract";
import {
  createTreeWatch,
  findLeftovers,
  type HolderFile,
  holderFiles,
  holdersFolder,
  isPast,
  isSame,
  lastLifeFile,
  type MonitorId,
  nextIncarnation,
  type Order,
  type OutcomeOf,
  type ProcessId,
  rememberOrders,
  stopTree,
  storeFile,
  writeWhole,
} from "@rouse/holder";
import { connectHolder, NotUnderstood, type OrderToHolder, RefusedByHolder } from "../../holders/connect-holder.ts";
import {
  doorOf,
  isHolderAlive,
  listHeld,
  readExitFile,
  readHolderFile,
  readSpec,
} from "../../holders/read-holder-files.ts";
import { registeredTree } from "../../holders/registered-tree.ts";
import { lifeToCome, startAgain } from "../../holders/start-again.ts";
import type {
  ContainRequest,
  HolderHome,
  HolderNews,
  Holders,
  NudgeRequest,
  Quota,
  StopRequest,
} from "../../ports/holders.ts";
import type { Log } from "../../ports/log.ts";
import { askQuota } from "./ask-quota.ts";
import { followLife, type Life, readHold, tellPastLife } from "./follow-life.ts";

const lookEvery: DurationMs = seconds(1);
const lookForLeftEvery: DurationMs = seconds(2);
const soon: readonly DurationMs[] = [50, 200, 500];
/** A stop by force takes so much longer than the grace itself. */
const forceTakes: DurationMs = seconds(20);
/** A long line is typed in pieces, each of which may take a while. One given by a hook waits for the hook. */
const nudgeTakes: DurationMs = seconds(30);
const longestNudge = 2000;
const containTakes: DurationMs = seconds(10);
/** After this time the stop itself is too late. */
const withdrawTakes: DurationMs = seconds(10);

/** The holders of this machine, found by their folders and followed over their sockets. */
export function openHolders(home: HolderHome, log: Log): Holders {
  const lives = new Map<string, Life>();
  /** The past life of each agent whose end was told. */
  const told = new Map<string, number>();
  const began = Date.now();
  let news: HolderNews | null = null;
  let monitor: MonitorId | null = null;
  let closed = false;
  const closing = new AbortController();
  let timer: NodeJS.Timeout | null = null;
  let leftTimer: NodeJS.Timeout | null = null;
  let watcher: FSWatcher | null = null;

  /**
   * Orders that the last run saved are issued again before this run has saved its epoch. A holder would refuse a
   * monitor without an epoch, and a refusal is final; so the orders are tried again.
   */
  function ourselves(): MonitorId {
    if (monitor !== null) return monitor;
    throw new Fault("holder-unreachable", "this monitor has not begun yet", { retryable: true });
  }

  function look(): void {
    if (news === null) return;
    for (const agentId of listHeld(home.folder)) lookAt(agentId, news);
  }

  /** A new folder is filled within moments; without this its agent would be unknown until the next round. */
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
    const life = followLife(file, { home: home.folder, news: to, monitor: ourselves(), log, adopted });
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

  /** A life that began and ended (or lost its holder) without a monitor, or whose end this monitor missed. */
  function tellOfPast(file: HolderFile, to: HolderNews): void {
    const { agentId, incarnation } = file;
    const known = to.standing(agentId);
    const hold = readHold(home.folder, file);
    const isNews =
      known === null || incarnation > known.incarnation || (incarnation === known.incarnation && !known.over);
    told.set(agentId, incarnation);
    if (!isNews || hold === null) return;
    tellPastLife(home.folder, agentId, hold, to).catch((error: unknown) => {
      told.delete(agentId);
      if (!(error instanceof Fault))
        log.error({ agentId, error: String(error) }, "the end of an agent could not be told");
    });
  }

  /** `rouse run` gives its terminal back and does not wait for leftovers: their end is seen here. */
  async function lookForLeft(to: HolderNews): Promise<void> {
    for (const [agentId, incarnation] of told) {
      const known = to.standing(agentId);
      if (known?.incarnation !== incarnation || !known.over || !known.left) continue;
      const file = readHolderFile(home.folder, agentId);
      const isPast = file?.incarnation === incarnation && !isHolderAlive(file);
      const tree = isPast ? registeredTree(file, to.registered(agentId)) : null;
      if (tree === null || (await findLeftovers(createTreeWatch(tree))).length > 0 || closed) continue;
      await to.nobodyLeft(agentId, incarnation);
    }
  }

  /** One round after the other; what could not be told is told in the next. */
  function lookForLeftAgain(): void {
    leftTimer = setTimeout(() => {
      if (news === null) return;
      lookForLeft(news)
        .catch((error: unknown) => {
          if (!(error instanceof Fault)) log.error({ error: String(error) }, "what agents left cannot be looked for");
        })
        .finally(() => {
          if (!closed) lookForLeftAgain();
        });
    }, lookForLeftEvery);
  }

  /** Uses a line of its own: a holder that does not know an order hangs up, and other orders would be lost too. */
  async function orderAlone<O extends Order>(
    file: HolderFile,
    order: Omit<OrderToHolder<O>, "epoch">,
    takes: DurationMs,
  ): Promise<OutcomeOf<O>> {
    const line = await connectHolder(doorOf(home.folder, file), { timeoutMs: 5000, monitor: ourselves() });
    try {
      return await line.order<O>({ ...order, epoch: ourselves().epoch }, takes);
    } finally {
      line.close();
    }
  }

  async function stop(request: StopRequest): Promise<StopOutcome> {
    const { key, agentId, incarnation, grace, ...conditions } = request;
    const file = readHolderFile(home.folder, agentId);
    if (file === null || file.agent === null) return { kind: "refused", because: "not-registered" };
    if (file.incarnation !== incarnation) return { kind: "refused", because: "wrong-incarnation" };
    const { epoch } = ourselves();
    const order = { key, incarnation, order: { kind: "stop" as const, graceMs: grace, ...conditions } };
    const line = lives.get(agentId)?.connection() ?? null;
    if (line !== null) return line.order({ ...order, epoch }, grace + forceTakes);
    if (!isHolderAlive(file)) {
      const told = rememberOrders(holderFiles(home.folder, agentId).orders).stop(key);
      if (told !== undefined) return told;
      if (isPast(conditions)) return { kind: "refused", because: "too-late" };
      // The agent may outlive its holder: its process tree is found by what the holder left behind.
      const tree = registeredTree(file, news?.registered(agentId) ?? null);
      return tree === null ? { kind: "refused", because: "not-registered" } : stopTree(tree, { graceMs: grace });
    }
    try {
      return await orderAlone(file, order, grace + forceTakes);
    } catch (error) {
      if (error instanceof RefusedByHolder) return { kind: "refused", because: error.because };
      throw error;
    }
  }

  async function withdrawStop({ key, agentId, incarnation }: Parameters<Holders["withdrawStop"]>[0]): Promise<void> {
    const file = readHolderFile(home.folder, agentId);
    if (file?.incarnation !== incarnation || !isHolderAlive(file)) return;
    try {
      await orderAlone(file, { key, incarnation, order: { kind: "withdraw-stop" } }, withdrawTakes);
    } catch (error) {
      log.info(
        { agentId, error: String(error) },
        "a stop could not be taken back; its holder refuses it when it comes too late",
      );
    }
  }

  async function nudge({ key, agentId, incarnation, text, notAfter, whenIdle }: NudgeRequest): Promise<NudgeDelivery> {
    const file = readHolderFile(home.folder, agentId);
    if (file === null || file.agent === null) return { kind: "not-sent", because: "not-registered" };
    if (!isHolderAlive(file)) {
      const told = rememberOrders(holderFiles(home.folder, agentId).orders).nudge(key);
      return told ?? { kind: "not-sent", because: whyUnreachable(file, file.agent, incarnation) };
    }
    const words = { text: text.slice(0, longestNudge), notAfter, ...(whenIdle && { whenIdle }) };
    const takes = Math.max(0, notAfter - Date.now()) + nudgeTakes;
    try {
      return await orderAlone(file, { key, incarnation, order: { kind: "nudge", ...words } }, takes);
    } catch (error) {
      if (error instanceof NotUnderstood) return { kind: "not-sent", because: "no-input" };
      if (error instanceof RefusedByHolder) return { kind: "not-sent", because: error.because };
      throw error;
    }
  }

  async function contain({ key, agentId, incarnation, lasts, ...how }: ContainRequest): Promise<ContainOutcome> {
    const file = readHolderFile(home.folder, agentId);
    if (file === null || file.agent === null) return { kind: "not-contained", because: "not-registered" };
    if (!isHolderAlive(file)) return { kind: "not-contained", because: "over" };
    try {
      const order = { kind: "contain" as const, ...how, lastsMs: lasts };
      return await orderAlone(file, { key, incarnation, order }, containTakes);
    } catch (error) {
      if (error instanceof NotUnderstood) return { kind: "not-contained", because: "no-way" };
      if (error instanceof RefusedByHolder) return { kind: "not-contained", because: error.because };
      throw error;
    }
  }

  return {
    async begin(to, epoch, store) {
      // A monitor that could not start still saves its epoch, after it was closed.
      if (closed) return;
      news = to;
      monitor = { store, epoch };
      const folder = holdersFolder(home.folder);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      finishForgetting(home.folder);
      // Tells commands of the same user which store a new agent belongs to, and which monitor takes it over.
      writeWhole(storeFile(home.folder), JSON.stringify(monitor));
      watcher = watch(folder, lookSoon);
      watcher.on("error", () => watcher?.close());
      timer = setInterval(look, lookEvery);
      lookForLeftAgain();
      look();
    },
    stop,
    withdrawStop,
    nudge,
    contain,
    async quotaOf(agentId, afterIncarnation) {
      const spec = lifeToCome(home.folder, agentId, afterIncarnation);
      const quota: Quota =
        spec === null ? { kind: "unknown", because: "begun" } : await askQuota(spec, { signal: closing.signal });
      // Without an answer no agent is started: the next monitor asks again.
      if (closed) throw new Fault("holder-unreachable", "this monitor is closed", { retryable: true });
      log.info({ agentId, quota }, "asked its program whether its limit is over");
      return quota;
    },
    async startAgain(agentId, afterIncarnation, revival) {
      try {
        const from = { home: home.folder, token: home.token, url: home.url(), books: news };
        const started = await startAgain(from, agentId, afterIncarnation, revival);
        look();
        return started;
      } catch (error) {
        if (error instanceof Fault) return { problem: error.message };
        throw error;
      }
    },
    async forget(agentId) {
      const isGone = await forgetAgent(home.folder, agentId);
      if (!isGone) return false;
      lives.get(agentId)?.stop();
      lives.delete(agentId);
      told.delete(agentId);
      return true;
    },
    folderOf: (agentId) => readSpec(home.folder, agentId)?.cwd ?? null,
    keptDownAt(agentId, incarnation) {
      const written = readExitFile(home.folder, agentId);
      return written?.incarnation === incarnation ? (written.keptDownAt ?? null) : null;
    },
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
      closing.abort();
      news = null;
      if (timer !== null) clearInterval(timer);
      if (leftTimer !== null) clearTimeout(leftTimer);
      watcher?.close();
      for (const life of lives.values()) life.stop();
      await Promise.allSettled([...lives.values()].map(({ over }) => over));
    },
  };
}

/** The holder is gone, and the agent's terminal with it. */
function whyUnreachable(file: HolderFile, agent: ProcessId, incarnation: number): NudgeRefusal {
  if (file.incarnation !== incarnation) return "wrong-incarnation";
  return isSame(agent) ? "no-input" : "over";
}

/** A holder stays a moment after its agent, until the monitor knows. */
const leavesWithin: DurationMs = seconds(8);
const lookIfGoneEvery: DurationMs = 50;

/** No agent's name begins like this. */
const removed = ".removed-";

/** Removes the folder of an agent that is over; `false` while its holder or its process is there. */
async function forgetAgent(home: string, agentId: string): Promise<boolean> {
  if (!listHeld(home).includes(agentId)) return true;
  for (let waited = 0; isThere(home, agentId); waited += lookIfGoneEvery) {
    if (waited >= leavesWithin) return false;
    await pause(lookIfGoneEvery);
  }
  const { folder } = holderFiles(home, agentId);
  writeWhole(lastLifeFile(home, agentId), String(nextIncarnation(home, agentId) - 1));
  const aside = join(holdersFolder(home), `${removed}${agentId}`);
  rmSync(aside, { recursive: true, force: true });
  // Put aside first: an agent that is started with this name now gets a folder of its own.
  renameSync(folder, aside);
  rmSync(aside, { recursive: true, force: true });
  return true;
}

function isThere(home: string, agentId: string): boolean {
  const file = readHolderFile(home, agentId);
  return file !== null && (isHolderAlive(file) || (file.agent !== null && isSame(file.agent)));
}

/** Removes folders that were put aside by a monitor that was killed before it could remove them. */
function finishForgetting(home: string): void {
  for (const name of readdirSync(holdersFolder(home)))
    if (name.startsWith(removed)) rmSync(join(holdersFolder(home), name), { recursive: true, force: true });
}
