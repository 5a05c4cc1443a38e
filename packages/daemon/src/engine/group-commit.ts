import { type AuditRecord, type DurationMs, Fault } from "@rouse/contract";
import type { Timers } from "../ports/clock.ts";
import type {
  Commit,
  EventToSave,
  IntendedAction,
  SavedCheckpoint,
  SavedMachine,
  SavedRecord,
  SavedSignal,
  Store,
} from "../ports/store.ts";

const retryAfter: DurationMs = 500;
/** This many signals are worth a commit of their own before the turn is over. */
const enough = 24;

interface Waiter {
  resolve(): void;
  reject(fault: Fault): void;
}

export interface Draft {
  removed: number[];
  signals: SavedSignal[];
  /** Records are serialised when the commit starts, so ten beats of one agent in one turn write one record. */
  records: Map<number, () => SavedRecord>;
  events: EventToSave[];
  actions: IntendedAction[];
  finished: string[];
  /** Machines' records, by machine and id, are serialised then too. See `saveMachine`. */
  machines: Map<string, () => SavedMachine>;
  checkpoints: SavedCheckpoint[];
  audit: AuditRecord[];
  marks: Record<string, string | null>;
}

const emptyDraft = (): Draft => ({
  removed: [],
  signals: [],
  records: new Map(),
  events: [],
  actions: [],
  finished: [],
  machines: new Map(),
  checkpoints: [],
  audit: [],
  marks: {},
});

interface GroupCommitHooks {
  committed(commit: Commit): void;
  wentDown(fault: Fault): void;
  cameBack(): void;
}

/**
 * Commits whatever came in during one turn of the event loop, one commit at a time; what arrives meanwhile goes into
 * the next. There is no fixed window: a lone beat waits for nobody, and in a crowd many beats share one sync to disk.
 *
 * While the store is down, callers are refused at once. The failed commit is kept and tried again: its turns are
 * already part of the records in memory, so it must reach the disk before anything newer. When another monitor has
 * taken over, the commit is not tried again: for this monitor the store stays down.
 */
export function groupCommits(store: Store, epoch: number, timers: Timers, hooks: GroupCommitHooks) {
  let draft = emptyDraft();
  let waiters: Waiter[] = [];
  let busy = false;
  let scheduled = false;
  let down: Fault | null = null;
  let idle: (() => void)[] = [];
  let cancelRetry: () => void = () => undefined;
  let over = false;

  function schedule(): void {
    if (scheduled || busy || down !== null) return;
    scheduled = true;
    timers.soon(() => {
      scheduled = false;
      flush();
    });
  }

  function flush(): void {
    if (busy || down !== null) return;
    if (isEmpty(draft) && waiters.length === 0) return settleIdle();
    const commit = seal(draft, epoch);
    const waiting = waiters;
    draft = emptyDraft();
    waiters = [];
    busy = true;
    store.commit(commit).then(
      () => {
        busy = false;
        hooks.committed(commit);
        for (const waiter of waiting) waiter.resolve();
        if (isEmpty(draft) && waiters.length === 0) settleIdle();
        else schedule();
      },
      (error: unknown) => {
        busy = false;
        goDown(commit, toFault(error), waiting);
      },
    );
  }

  function goDown(commit: Commit, fault: Fault, waiting: readonly Waiter[]): void {
    down = fault;
    for (const waiter of [...waiting, ...waiters]) waiter.reject(fault);
    waiters = [];
    hooks.wentDown(fault);
    if (isReplaced()) settleIdle();
    else retryLater(commit);
  }

  function retryLater(commit: Commit): void {
    if (!over) cancelRetry = timers.after(retryAfter, () => retry(commit));
  }

  function retry(commit: Commit): void {
    store.commit(commit).then(
      () => {
        down = null;
        // The gap comes first: the commit's actions, decided before the outage, are carried out with it known.
        hooks.cameBack();
        hooks.committed(commit);
        schedule();
      },
      (error: unknown) => {
        down = toFault(error);
        settleIdle();
        if (isReplaced()) hooks.wentDown(down);
        else retryLater(commit);
      },
    );
  }

  const isReplaced = (): boolean => down?.code === "epoch-lost";

  function settleIdle(): void {
    const settled = idle;
    idle = [];
    for (const resolve of settled) resolve();
  }

  return {
    /** The next commit. Add to it and call `schedule`, or `saved` to learn when it is on disk. */
    draft: (): Draft => draft,
    /** Saves a machine's record with the next commit, as it is by then. */
    saveMachine(machine: string, id: string, serialise: () => Pick<SavedMachine, "record" | "overAt">): void {
      draft.machines.set(`${machine}/${id}`, () => ({ machine, id, ...serialise() }));
    },
    schedule,
    saved(): Promise<void> {
      return new Promise((resolve, reject) => this.whenSaved(resolve, reject));
    },
    /** `saved` without a promise, for the path that every beat takes. */
    whenSaved(resolve: () => void, reject: (fault: Fault) => void): void {
      if (down !== null) return reject(down);
      waiters.push({ resolve, reject });
      // In a crowd the disk starts on the first beats while the rest are still being read.
      if (!busy && draft.signals.length >= enough) flush();
      else schedule();
    },
    down: (): Fault | null => down,
    /** Throws while nothing could be saved. */
    refuseWhileDown(): void {
      if (down !== null) throw down;
    },
    /** True once another monitor has taken over: this one saves nothing any more. */
    isReplaced,
    /** Resolves when nothing is left to write, or when the store cannot be reached. */
    drain(): Promise<void> {
      if (down !== null || (!busy && !scheduled && isEmpty(draft) && waiters.length === 0)) return Promise.resolve();
      schedule();
      return new Promise((resolve) => idle.push(resolve));
    },
    /** Ends the retries of a commit that failed. */
    stop(): void {
      over = true;
      cancelRetry();
    },
  };
}

export type GroupCommit = ReturnType<typeof groupCommits>;

const isEmpty = (draft: Draft): boolean =>
  draft.removed.length === 0 &&
  draft.signals.length === 0 &&
  draft.records.size === 0 &&
  draft.events.length === 0 &&
  draft.actions.length === 0 &&
  draft.finished.length === 0 &&
  draft.machines.size === 0 &&
  draft.checkpoints.length === 0 &&
  draft.audit.length === 0 &&
  Object.keys(draft.marks).length === 0;

const seal = (draft: Draft, epoch: number): Commit => ({
  ...draft,
  epoch,
  records: [...draft.records.values()].map((serialise) => serialise()),
  machines: [...draft.machines.values()].map((serialise) => serialise()),
});

function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  return new Fault("store-unavailable", `the store failed: ${String(error)}`, { retryable: true, cause: error });
}
