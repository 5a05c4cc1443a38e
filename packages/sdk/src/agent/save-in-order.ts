import { Fault } from "@rouse/contract";
import { BreakerOpenError } from "../guard/breaker.ts";
import { isObject } from "../read-recovery.ts";
import type { SavedStep } from "./agent-api.ts";
import type { OwnBreakers } from "./calls/own-breakers.ts";
import type { Identity } from "./identity.ts";
import { type Link, type LinkCall, type Outcome, ReplacedError } from "./link.ts";
import { sendUntilAnswered } from "./send-until-answered.ts";
import { findOvertaken, type Newest, newestOf, type Spool, type WaitingCheckpoint } from "./spool.ts";

/** What may wait at most: more than that is refused aloud, because nothing that waits is ever given up. */
const most = { count: 1000, bytes: 64 * 1024 * 1024 };

interface Waiting extends WaitingCheckpoint {
  /** Where it lies on disk; `null` while it is only in memory. */
  file: string | null;
  /** An earlier life made it. */
  readonly inherited: boolean;
  /** Of the caller who still waits; `null` once it was told. */
  caller: { resolve(saved: SavedStep): void; reject(why: Fault | ReplacedError): void } | null;
}

interface SavingParts {
  readonly who: Identity & { readonly task: string };
  readonly link: Link;
  readonly breakers: OwnBreakers;
  /** Its life is known. */
  readonly mayBegin: () => boolean;
  /** Asked for its life, Rouse gave none: nothing is sent, whatever else it answers. */
  readonly isKeptOut: () => boolean;
  readonly openSpool: () => Promise<Spool | null>;
  readonly onSaved: (step: number) => void;
}

/** Checkpoints, one at a time and in order. While Rouse cannot take them they wait, on disk where that is possible. */
export function saveInOrder({ who, link, breakers, mayBegin, isKeptOut, openSpool, onSaved }: SavingParts) {
  const { task, recovered } = who;
  const queue: Waiting[] = [];
  let bytes = 0;
  let isForced = false;
  /** The last try failed, so whoever comes next need not wait for one. */
  let isHeldUp = false;
  /** What the first checkpoint of this life goes on from, where that is not the newest. */
  let parent = recovered !== null && recovered.taskId === task ? recovered.checkpoint : undefined;
  /** The newest that Rouse is known to have. */
  let newest = recovered !== null && recovered.taskId === task ? (recovered.checkpoint ?? undefined) : undefined;
  /** Which of those that an earlier life left a later one has overtaken; `null` until Rouse was asked. */
  let overtaken: ReadonlySet<Waiting> | null = null;
  let spool: Spool | null = null;
  const ready = inherit();

  const sender = sendUntilAnswered<Waiting>({
    isOver: link.isOver,
    onRetry: link.countRetry,
    onMistake: link.tellMistake,
    take: () => (mayBegin() ? (queue[0] ?? null) : null),
    send: write,
    settle,
  });
  link.countWaiting(() => queue.length);
  link.onTrouble(() => void keepAll());

  function refuseReplaced(what: string): void {
    if (link.isReplaced()) throw new ReplacedError(`${what}: ${link.connection().problem}`);
  }

  async function inherit(): Promise<void> {
    spool = await openSpool().catch(() => null);
    const left = (await spool?.load().catch(() => [])) ?? [];
    for (const one of left) add({ ...one, inherited: true, caller: null });
    if (left.length > 0) sender.wake();
  }

  function add(one: Waiting): void {
    queue.push(one);
    bytes += one.text.length;
  }

  async function write(one: Waiting): Promise<Outcome> {
    const breaker = breakers.get("checkpoint_write");
    const ticket = breaker.enter();
    if (ticket instanceof BreakerOpenError && !isForced) {
      await keepAll();
      return { kind: "later", waitMs: ticket.retryAfterMs, slow: false };
    }
    const outcome = orLater(await exchange(one));
    if (!(ticket instanceof BreakerOpenError)) breaker.leave(ticket, outcome.kind === "later" ? "failed" : "succeeded");
    isHeldUp = outcome.kind === "later";
    if (isHeldUp) await keepAll();
    return outcome;
  }

  async function exchange(one: Waiting): Promise<Outcome> {
    if (!one.inherited) return link.exchange(callFor(one));
    const asked = overtaken === null ? await link.exchange({ path: `${path}?limit=1`, understands: isNewest }) : null;
    if (asked?.kind === "later") return asked;
    overtaken ??= await judge(asked?.kind === "answered" ? newestOf(asked.body) : null);
    if (!overtaken.has(one)) return link.exchange(callFor(one));
    return { kind: "refused", fault: new Fault("checkpoint-refused", "a later life is further"), status: 409 };
  }

  /** What a process that was replaced has left must not be laid over the work of the one that replaced it. */
  async function judge(known: Newest | null): Promise<ReadonlySet<Waiting>> {
    const left = queue.filter(({ inherited }) => inherited);
    const { gone, lost } = await findOvertaken(left, known);
    if (lost.length > 0)
      link.warnOnce(
        "overtaken",
        `checkpoints that an earlier life of ${who.id} left on disk are dropped (step ${lost.map(({ step }) => step).join(", ")}): task ${task} is at step ${known?.step} by now, saved by another life`,
      );
    return new Set(gone);
  }

  /** A task that Rouse was not told of at the start is no fault in the state: the work goes on, and what was done is kept here. */
  function orLater(outcome: Outcome): Outcome {
    if (!who.isTaskUnknown || outcome.kind !== "refused" || outcome.fault.code !== "forbidden") return outcome;
    link.warnOnce(
      "forbidden",
      `Rouse takes no checkpoints of task ${task}, so they wait here: ${outcome.fault.message}. Start the agent with it: rouse spawn --task ${task}`,
    );
    return { kind: "later", waitMs: 0, slow: true };
  }

  const path = `/api/v1/tasks/${encodeURIComponent(task)}/checkpoints`;
  const callFor = ({ step, name, text }: Waiting): LinkCall => ({
    path,
    body: {
      step,
      stepName: name,
      state: JSON.parse(text) as unknown,
      agentId: who.id,
      ...(parent === undefined ? {} : { parent }),
    },
    understands: (body) => isObject(body) && typeof body["id"] === "string" && typeof body["stateHash"] === "string",
  });

  async function settle(one: Waiting, outcome: Exclude<Outcome, { kind: "later" }>): Promise<null> {
    if (outcome.kind === "answered") {
      parent = undefined;
      newest = (outcome.body as { id: string }).id;
      onSaved(one.step);
      one.caller?.resolve({ state: "saved", step: one.step });
    } else if (one.caller !== null) one.caller.reject(inAuthorsWords(one, outcome.fault));
    else if (!one.inherited || outcome.fault.code !== "checkpoint-refused")
      // One of an earlier life that is older than what Rouse has is no loss.
      link.warnOnce(
        `checkpoint ${one.step}`,
        `the checkpoint of step ${one.step} was not taken: ${inAuthorsWords(one, outcome.fault).message}`,
      );
    one.caller = null;
    queue.shift();
    bytes -= one.text.length;
    await drop(one);
    return null;
  }

  let keeping: Promise<void> = Promise.resolve();

  /** Puts what waits on disk, one after the other, and then tells those who wait for it. */
  function keepAll(): Promise<void> {
    keeping = keeping.then(async () => {
      await ready;
      for (const one of [...queue]) if (one.caller !== null) await keep(one);
    });
    return keeping;
  }

  async function keep(one: Waiting): Promise<void> {
    if (spool !== null && !link.isReplaced())
      one.file = await spool.keep(one).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        link.warnOnce("spool", `checkpoints that Rouse cannot take wait in memory only: ${why}`);
        return null;
      });
    // Meanwhile it may have been taken.
    if (!queue.includes(one)) await drop(one);
    if (link.isReplaced()) return forgetReplaced(one);
    one.caller?.resolve({ state: "queued", step: one.step });
    one.caller = null;
  }

  /** Made by a process that was replaced meanwhile. */
  async function forgetReplaced(one: Waiting): Promise<void> {
    await drop(one);
    one.file = null;
    try {
      refuseReplaced(`the checkpoint of step ${one.step} is not kept`);
    } catch (error) {
      one.caller?.reject(error as ReplacedError);
    }
    one.caller = null;
  }

  async function drop({ file }: Waiting): Promise<void> {
    if (file !== null) await spool?.drop(file).catch(() => undefined);
  }

  /** `text`: the state, as `writeState` wrote it when it was given. */
  async function checkpoint(step: number, text: string, name = ""): Promise<SavedStep> {
    await ready;
    refuseReplaced(`the checkpoint of step ${step} is not kept`);
    if (queue.length >= most.count || bytes + text.length > most.bytes) {
      const full = `${queue.length} checkpoints wait because Rouse cannot take them (${link.connection().problem}); no more are kept`;
      link.warnOnce("full", full);
      throw new Fault("store-unavailable", full, { retryable: true });
    }
    const saved = new Promise<SavedStep>((resolve, reject) => {
      add({
        step,
        name: String(name).slice(0, 200),
        text,
        file: null,
        inherited: false,
        after: newest,
        caller: { resolve, reject },
      });
    });
    sender.wake();
    if (isHeldUp || isKeptOut() || !link.isAnswering()) void keepAll();
    return awaited(saved);
  }

  return {
    checkpoint,
    refuseReplaced,
    wake: sender.wake,
    /** What an earlier life left is known. */
    ready,
    /** The newest that waits; `null` when none does. */
    newestWaiting: (): WaitingCheckpoint | null => queue.at(-1) ?? null,
    /** Resolves when nothing of an earlier life waits any more. */
    inheritanceSent: (): Promise<void> => sender.until(() => !queue.some(({ inherited }) => inherited)),
    /** `listed`: the newest that Rouse has; it may be damaged. */
    goOnFrom(id: string | null, listed: string | undefined): void {
      parent = id;
      newest = listed;
    },
    /** Tries even through an open breaker: there is no later. */
    flush(): Promise<void> {
      isForced = true;
      sender.wake();
      sender.hurry();
      return sender
        .until(() => queue.length === 0)
        .finally(() => {
          isForced = false;
        });
    },
  };
}

export type CheckpointSaver = ReturnType<typeof saveInOrder>;

/** What Rouse says of a step back names a field that only the HTTP API has. */
function inAuthorsWords({ step }: Waiting, fault: Fault): Fault {
  const newest = /^step \d+ comes before step (\d+)/.exec(fault.message)?.[1];
  if (fault.code !== "checkpoint-refused" || newest === undefined) return fault;
  return new Fault(
    fault.code,
    `step ${step} comes before step ${newest}, which is saved already: give it number ${newest} or a higher one, or, to begin anew, the agent another task`,
  );
}

const isNewest = (body: unknown): boolean => isObject(body) && Array.isArray(body["checkpoints"]);

/** Keeps the program alive until then: its author waits for it. */
function awaited<T>(happens: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, 2 ** 31 - 1);
  return happens.finally(() => clearInterval(timer));
}
