import { Worker } from "node:worker_threads";
import { Fault } from "@rouse/contract";
import type { Answer, CallName, Calls, PackedFault } from "./thread-messages.ts";

/** A line to one worker thread. Once the thread has ended, for whatever reason, every call rejects. */
export interface WorkerLine {
  call<N extends CallName>(name: N, what: Calls[N]["ask"]): Promise<Calls[N]["answer"]>;
  readonly ended: Promise<void>;
  hasEnded(): boolean;
  /** Ends the thread without asking it. */
  hangUp(): Promise<void>;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export function startWorker(file: URL): WorkerLine {
  // Without `execArgv` the thread would inherit flags meant for the program: --input-type, --inspect, a test runner's.
  const worker = new Worker(file, { name: "store", execArgv: [] });
  const waiting = new Map<number, Waiting>();
  let calls = 0;
  let endedBecause: Error | undefined;

  worker.on("message", ([number, fault, result]: Answer) => {
    const caller = waiting.get(number);
    waiting.delete(number);
    if (fault === null) caller?.resolve(result);
    else caller?.reject(unpackFault(fault));
  });
  worker.on("error", (error) => {
    endedBecause = gone(error);
  });
  const ended = new Promise<void>((resolve) => {
    worker.on("exit", (code) => {
      endedBecause ??= gone(new Error(`exit code ${code}`));
      for (const caller of waiting.values()) caller.reject(endedBecause);
      waiting.clear();
      resolve();
    });
  });

  return {
    ended,
    hasEnded: () => endedBecause !== undefined,
    async hangUp() {
      await worker.terminate();
      await ended;
    },
    call<N extends CallName>(name: N, what: Calls[N]["ask"]) {
      return new Promise<Calls[N]["answer"]>((resolve, reject) => {
        if (endedBecause !== undefined) return reject(endedBecause);
        const number = ++calls;
        waiting.set(number, { resolve: resolve as (result: unknown) => void, reject });
        worker.postMessage([number, name, what]);
      });
    },
  };
}

/** Rebuilds the error that the worker thread packed: errors lose their class and fields between threads. */
const unpackFault = ({ code, message, retryable, detail }: PackedFault): Error =>
  code === null ? new Error(message, { cause: detail }) : new Fault(code, message, { retryable, cause: detail });

const gone = (cause: unknown): Fault =>
  new Fault("store-unavailable", `the thread that saves to disk ended: ${String(cause)}`, { retryable: true, cause });
