import { existsSync } from "node:fs";
import { Fault, type SavedEvent, toIso } from "@rouse/contract";
import type { BeatStretch, KeptMachine, Resumption, SavedRecord, Store } from "../../ports/store.ts";
import { startWorker, type WorkerLine } from "./call-worker.ts";
import { addOlder, type Stretches } from "./fold-stretches.ts";
import { packCommit, unpackLine, unpackRecords, unpackSignals } from "./pack.ts";
import type { CallName, Calls, HistoryQuestion, PackedEvent } from "./thread-messages.ts";

export interface SqliteStoreOptions {
  /** The data folder: exists already, and only its owner may read it. */
  readonly folder: string;
  /** Which shard; there is only 0 unless several monitors share the fleet. */
  readonly shard?: number;
  /** The bundle of worker.ts; by default the one beside this file's own bundle. */
  readonly workerFile?: URL;
}

/** The port on SQLite, which runs in a thread of its own. Each shard has a file of its own. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { folder, shard = 0, workerFile = bundledWorker() } = options;
  let line: Promise<WorkerLine> | null = null;
  let closing: Promise<void> | undefined;

  /** A thread that died is replaced at the next call. */
  function reach(): Promise<WorkerLine> {
    line ??= openLine(workerFile, { folder, shard }, () => {
      line = null;
    });
    return line;
  }

  async function call<N extends CallName>(name: N, what: Calls[N]["ask"]): Promise<Calls[N]["answer"]> {
    if (closing !== undefined) throw new Fault("store-unavailable", "the store is closed");
    return (await reach()).call(name, what);
  }

  async function closeLine(): Promise<void> {
    const open = await line?.catch(() => null);
    if (!open || open.hasEnded()) return;
    await open.call("close", null);
    await open.ended;
  }

  await reach();
  return {
    commit: async (commit) => {
      await call("commit", packCommit(commit));
    },
    takeOver: () => call("takeOver", null),
    resume: () => readResumption(call),
    readEvents: async (query) => (await call("readEvents", query)).map(toSavedEvent),
    readBeats: async (agentNo, limit, before) =>
      unpackSignals(await call("readBeats", { agentNo, before: before ?? null, limit })),
    readSteps: async (agentNo, before, limit) => unpackSignals(await call("readSteps", { agentNo, before, limit })),
    readHistory: (agentNo, from, to, step) => readHistory({ agentNo, from, to, step, resumeAt: null }, call),
    readAudit: async (query) => (await call("readAudit", query)).map(unpackLine),
    readCheckpoints: (taskId, limit, before = Number.MAX_SAFE_INTEGER) =>
      call("readCheckpoints", { taskId, before, limit }),
    findCheckpoint: (id) => call("findCheckpoint", id),
    refersToState: (stateHash) => call("refersToState", stateHash),
    forgetOldStates: (taskId, keep) => call("forgetOldStates", { taskId, keep }),
    tidy: (order) => call("tidy", order),
    close: () => {
      closing ??= closeLine();
      return closing;
    },
  };
}

async function openLine(workerFile: URL, which: Calls["open"]["ask"], onEnd: () => void): Promise<WorkerLine> {
  const line = startWorker(workerFile);
  void line.ended.then(onEnd);
  try {
    await line.call("open", which);
    return line;
  } catch (error) {
    await line.hangUp();
    throw error;
  }
}

async function readResumption(call: WorkerLine["call"]): Promise<Resumption> {
  const records = await readParts<SavedRecord>(async (last) =>
    unpackRecords(await call("readRecords", last?.agentNo ?? Number.MIN_SAFE_INTEGER)),
  );
  const throughs = new Float64Array(records.flatMap(({ agentNo, through }) => [agentNo, through]));
  const rest = await call("readRest", throughs);
  const machines = await readParts<KeptMachine>((last) => call("readMachines", last ?? { machine: "", id: "" }));
  return { ...rest, records, machines, signals: unpackSignals(rest.signals) };
}

/** Reads part after part, each from the last row of the one before, until one is empty. */
async function readParts<T>(readAfter: (last: T | undefined) => Promise<readonly T[]>): Promise<T[]> {
  const rows: T[] = [];
  for (let part = await readAfter(undefined); part.length > 0; part = await readAfter(rows.at(-1)))
    for (const row of part) rows.push(row);
  return rows;
}

async function readHistory(question: HistoryQuestion, call: WorkerLine["call"]): Promise<BeatStretch[]> {
  const { from, to, step } = question;
  const stretches: Stretches = new Map();
  for (let resumeAt: number | null | undefined; resumeAt !== null; ) {
    const part = await call("readHistory", { ...question, resumeAt: resumeAt ?? null });
    for (const stretch of part.stretches) addOlder(stretches, stretch);
    resumeAt = part.resumeAt;
  }
  return [...stretches.values()]
    .sort((a, b) => a.nth - b.nth)
    .map(({ nth, ...counted }) => ({ at: Math.min(from + nth * step, to), ...counted }));
}

const toSavedEvent = ({ id, time, type, payload }: PackedEvent): SavedEvent =>
  ({ id, time: toIso(time), type, payload: JSON.parse(payload) }) as SavedEvent;

function bundledWorker(): URL {
  const beside = new URL("./store-sqlite-worker.js", import.meta.url);
  // Run from the sources, there is no bundle beside this file: the last build is used.
  return existsSync(beside) ? beside : new URL("../../../dist/store-sqlite-worker.js", import.meta.url);
}
