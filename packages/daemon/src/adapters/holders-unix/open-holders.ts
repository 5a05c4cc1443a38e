import { type FSWatcher, mkdirSync, watch } from "node:fs";
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
  type MonitorId,
  type ProcessId,
  rememberOrders,
  stopTree,
  storeFile,
  writeWhole,
} from "@rouse/holder";
import { connectHolder, type HolderConnection, NotUnderstood, RefusedByHolder } from "../../holders/connect-holder.ts";
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
import { followLife, type Life, tellPastLife } from "./follow-life.ts";
import { finishForgetting, forgetAgent } from "./forget-agent.ts";
import { readHold } from "./read-hold.ts";

const lookEvery: DurationMs = seconds(1);
const lookForLeftEvery: DurationMs = seconds(2);
const soon: readonly DurationMs[] = [50, 200, 500];
/** Stopping by force takes a moment longer than the grace itself. */
const forceTakes: DurationMs = seconds(20);
/** A long line is typed in pieces, and each may take its time to be seen. One given by a hook waits for the hook, until it is too late for it. */
const nudgeTakes: DurationMs = seconds(30);
const longestNudge = 2000;
const containTakes: DurationMs = seconds(10);
/** After that the stop itself is too late. */
const withdrawTakes: DurationMs = seconds(10);

/** Holders of this machine, found by their folders and followed over their sockets. */
export function openHolders(home: HolderHome, log: Log): Holders {
  const lives = new Map<string, Life>();
  /** Past lives that were told of, by agent. */
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
   * Orders saved by the run before are issued again before this one has saved its epoch. A holder would refuse whoever cannot say who they are, and a
   * refusal is final; they are tried again instead.
   */
  function ourselves(): MonitorId {
    if (monitor !== null) return monitor;
    throw new Fault("holder-unreachable", "this monitor has not begun yet", { retryable: true });
  }

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

  /** It was started and is over (or lost its holder) while no monitor was there; or this monitor knew it and missed the end. */
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

  /** `rouse run` gives its terminal back and does not stay with what is left: its end is seen here. */
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

  /** One round after the other; what could not be told is told by the next. */
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

  const connectTo = async (file: HolderFile): Promise<HolderConnection> =>
    connectHolder(doorOf(home.folder, file), { timeoutMs: 5000, monitor: ourselves() });

  async function stop(request: StopRequest): Promise<StopOutcome> {
    const { key, agentId, incarnation, grace, ...conditions } = request;
    const file = readHolderFile(home.folder, agentId);
    if (file === null || file.agent === null) return { kind: "refused", because: "not-registered" };
    if (file.incarnation !== incarnation) return { kind: "refused", because: "wrong-incarnation" };
    const { epoch } = ourselves();
    const order = { key, incarnation, epoch, order: { kind: "stop" as const, graceMs: grace, ...conditions } };
    const line = lives.get(agentId)?.connection() ?? null;
    if (line !== null) return line.order(order, grace + forceTakes);
    if (!isHolderAlive(file)) {
      const told = rememberOrders(holderFiles(home.folder, agentId).orders).stop(key);
      if (told !== undefined) return told;
      if (isPast(conditions)) return { kind: "refused", because: "too-late" };
      // Its agent may not be gone: the same tree, found by what the holder left behind.
      const tree = registeredTree(file, news?.registered(agentId) ?? null);
      return tree === null ? { kind: "refused", because: "not-registered" } : stopTree(tree, { graceMs: grace });
    }
    let own: HolderConnection | null = null;
    try {
      own = await connectTo(file);
      return await own.order(order, grace + forceTakes);
    } catch (error) {
      if (error instanceof RefusedByHolder) return { kind: "refused", because: error.because };
      throw error;
    } finally {
      own?.close();
    }
  }

  /** On a line of its own: one that does not know it hangs up. */
  async function withdrawStop({ key, agentId, incarnation }: Parameters<Holders["withdrawStop"]>[0]): Promise<void> {
    const file = readHolderFile(home.folder, agentId);
    if (file?.incarnation !== incarnation || !isHolderAlive(file)) return;
    let line: HolderConnection | null = null;
    try {
      line = await connectTo(file);
      const order = { kind: "withdraw-stop" as const };
      await line.order({ key, incarnation, epoch: ourselves().epoch, order }, withdrawTakes);
    } catch (error) {
      log.info(
        { agentId, error: String(error) },
        "a stop could not be taken back; its holder refuses it when it comes too late",
      );
    } finally {
      line?.close();
    }
  }

  async function nudge({ key, agentId, incarnation, text, notAfter, whenIdle }: NudgeRequest): Promise<NudgeDelivery> {
    const file = readHolderFile(home.folder, agentId);
    if (file === null || file.agent === null) return { kind: "not-sent", because: "not-registered" };
    if (!isHolderAlive(file)) {
      const told = rememberOrders(holderFiles(home.folder, agentId).orders).nudge(key);
      return told ?? { kind: "not-sent", because: whyUnreachable(file, file.agent, incarnation) };
    }
    const order = {
      kind: "nudge" as const,
      text: text.slice(0, longestNudge),
      notAfter,
      ...(whenIdle && { whenIdle }),
    };
    const takes = Math.max(0, notAfter - Date.now()) + nudgeTakes;
    // A line of its own: one that does not understand hangs up, and orders on the other would go with it.
    let line: HolderConnection | null = null;
    try {
      line = await connectTo(file);
      return await line.order({ key, incarnation, epoch: ourselves().epoch, order }, takes);
    } catch (error) {
      if (error instanceof NotUnderstood) return { kind: "not-sent", because: "no-input" };
      if (error instanceof RefusedByHolder) return { kind: "not-sent", because: error.because };
      throw error;
    } finally {
      line?.close();
    }
  }

  async function contain({ key, agentId, incarnation, ...order }: ContainRequest): Promise<ContainOutcome> {
    const file = readHolderFile(home.folder, agentId);
    if (file === null || file.agent === null) return { kind: "not-contained", because: "not-registered" };
    if (!isHolderAlive(file)) return { kind: "not-contained", because: "over" };
    const { how, reason, decidedAt, lasts } = order;
    const given = { kind: "contain" as const, how, reason, decidedAt, lastsMs: lasts };
    let line: HolderConnection | null = null;
    try {
      line = await connectTo(file);
      return await line.order({ key, incarnation, epoch: ourselves().epoch, order: given }, containTakes);
    } catch (error) {
      if (error instanceof NotUnderstood) return { kind: "not-contained", because: "no-way" };
      if (error instanceof RefusedByHolder) return { kind: "not-contained", because: error.because };
      throw error;
    } finally {
      line?.close();
    }
  }

  return {
    async begin(to, epoch, store) {
      // A monitor that could not start saves its epoch on the way out.
      if (closed) return;
      news = to;
      monitor = { store, epoch };
      const folder = holdersFolder(home.folder);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      finishForgetting(home.folder);
      // For commands of the same user: whom a new agent belongs to, and who takes it over.
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
      // Nobody is started unasked because nobody waited for the answer: the next monitor asks again.
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

/** Whoever owned its terminal is gone, and the terminal with them. */
function whyUnreachable(file: HolderFile, agent: ProcessId, incarnation: number): NudgeRefusal {
  if (file.incarnation !== incarnation) return "wrong-incarnation";
  return isSame(agent) ? "no-input" : "over";
}
