import { parentPort } from "node:worker_threads";
import { Fault } from "@rouse/contract";
import { openChains } from "./chain-signals.ts";
import { nameFault, textOf } from "./name-fault.ts";
import { type OpenDatabase, openDatabase } from "./open-database.ts";
import { prepareHistory, prepareReading } from "./read-back.ts";
import { prepareReadingKept } from "./read-kept.ts";
import { prepareResuming } from "./read-resumption.ts";
import type { Answer, Ask, CallName, Calls, PackedFault } from "./thread-messages.ts";
import { prepareForgettingStates, prepareTidying } from "./tidy-up.ts";
import { prepareWriting } from "./write-commit.ts";

/**
 * This thread waits for the disk, so that the thread that answers agents never does. Calls are carried out one after
 * the other, in the order they were made, and each is answered.
 */
const port = parentPort;
if (port === null) throw new Error("worker.ts runs only as a worker thread");

type Desk = { [N in Exclude<CallName, "open">]: (what: Calls[N]["ask"]) => Calls[N]["answer"] };

let database: OpenDatabase | undefined;
let desk: Desk | undefined;

port.on("message", (ask: Ask) => {
  const [number, name] = ask;
  const answer = carryOut(ask);
  port.postMessage(answer);
  // A transaction that can be neither kept nor rolled back ends the thread: the next call gets a new connection.
  if (database?.db.isOpen && database.db.isTransaction)
    throw new Error(`${name} (call ${number}) left a transaction open`);
  if (name === "close") port.close();
});

function carryOut(ask: Ask): Answer {
  try {
    return [ask[0], null, answerTo(ask)];
  } catch (error) {
    return [ask[0], packFault(database === undefined ? error : nameFault(error, database.path)), null];
  }
}

/** Packs an error for the other thread: between threads errors lose their class and fields. */
function packFault(error: unknown): PackedFault {
  const detail = error instanceof Error ? String(error.cause ?? error.stack) : String(error);
  const { code, retryable } = error instanceof Fault ? error : { code: null, retryable: false };
  return { code, message: textOf(error), retryable, detail };
}

function answerTo([, name, what]: Ask): unknown {
  if (name === "open") {
    database = openDatabase(what.folder, what.shard);
    desk = openDesk(database);
    return null;
  }
  if (desk === undefined) throw new Error(`${name} was called before open`);
  const carry = desk[name] as (what: unknown) => unknown;
  return carry(what);
}

function openDesk({ db, close }: OpenDatabase): Desk {
  const chains = openChains(db);
  const reading = prepareReading(db, chains);
  const { write, takeOver } = prepareWriting(db, chains);
  return {
    commit(commit) {
      write(commit);
      return null;
    },
    takeOver,
    ...prepareResuming(db, chains),
    readEvents: (query) => reading.readEvents(query),
    readBeats: ({ agentNo, before, limit }) => reading.readBeats(agentNo, before, limit),
    readSteps: ({ agentNo, before, limit }) => reading.readSteps(agentNo, before, limit),
    readHistory: prepareHistory(db, chains),
    ...prepareReadingKept(db),
    forgetOldStates: prepareForgettingStates(db),
    tidy: prepareTidying(db),
    close() {
      close();
      return null;
    },
  };
}
