import { connectRouse, type EventType, type StreamedEvent } from "@rouse/sdk";
import type { Server } from "../start-servers.ts";

export interface EventWatch {
  /** When (by `performance.now()`) the first event arrived that matches. */
  until(what: string, matches: (event: StreamedEvent) => boolean): Promise<number>;
  stop(): void;
}

interface Waiter {
  look(): void;
  fail(error: unknown): void;
}

const longestWait = 90_000;

export const clientOf = ({ port, token }: Server) => connectRouse({ url: `http://127.0.0.1:${port}`, token });

/** Everything after the event `after`, as it arrives at whoever listens to the daemon. */
export function followEvents(server: Server, types: readonly EventType[], after: number): EventWatch {
  const arrived: { event: StreamedEvent; at: number }[] = [];
  const waiters = new Set<Waiter>();
  const ending = new AbortController();

  async function listen(): Promise<void> {
    for await (const event of clientOf(server).streamEvents({ types, after, signal: ending.signal })) {
      arrived.push({ event, at: performance.now() });
      for (const waiter of [...waiters]) waiter.look();
    }
  }
  void listen().catch((error: unknown) => {
    for (const waiter of [...waiters]) waiter.fail(error);
  });

  return {
    until: (what, matches) =>
      new Promise((resolve, reject) => {
        const patience = setTimeout(() => waiter.fail(new Error(`${what} was not heard of`)), longestWait);
        const settle = (): void => {
          clearTimeout(patience);
          waiters.delete(waiter);
        };
        const waiter: Waiter = {
          look() {
            const found = arrived.find(({ event }) => matches(event));
            if (found === undefined) return;
            settle();
            resolve(found.at);
          },
          fail(error) {
            settle();
            reject(error);
          },
        };
        waiters.add(waiter);
        waiter.look();
      }),
    stop: () => ending.abort(),
  };
}
