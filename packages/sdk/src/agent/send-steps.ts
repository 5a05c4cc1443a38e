import type { StepEvent } from "@rouse/contract";
import { isObject } from "../read-recovery.ts";
import { faultIn, type Link, type LinkCall } from "./link.ts";
import { sendUntilAnswered } from "./send-until-answered.ts";
import { afterMs } from "./surroundings.ts";

const mostWaiting = 5000;
const mostTogether = 200;
/** Calls that follow each other at once travel together. */
const gatheredForMs = 50;

interface Batch {
  readonly key: string;
  readonly events: readonly StepEvent[];
}

/** Tells steps in order. A batch keeps its key, so that one whose answer was lost counts once. */
export function sendSteps(agentId: string, link: Link, mayBegin: () => boolean) {
  const queue: StepEvent[] = [];
  let gathering: (() => void) | null = null;

  const lineOut = sendUntilAnswered<Batch>({
    isOver: link.isOver,
    onRetry: link.countRetry,
    onMistake: link.tellMistake,
    take() {
      if (queue.length === 0 || gathering !== null || !mayBegin()) return null;
      return { key: crypto.randomUUID(), events: queue.splice(0, mostTogether) };
    },
    send: ({ key, events }) => link.exchange({ ...callOf(agentId, events), key }),
    settle({ events }, outcome) {
      const fault = faultIn(outcome);
      if (fault !== null) {
        link.countDropped(events.length);
        link.warnOnce(`steps ${fault.code}`, `Rouse does not take this agent's steps: ${fault.message}`);
      }
      return null;
    },
  });
  link.countWaiting(() => queue.length + (lineOut.current()?.events.length ?? 0));

  function go(): void {
    gathering?.();
    gathering = null;
    lineOut.wake();
  }

  return {
    add(event: StepEvent): void {
      if (link.isOver()) return;
      queue.push(event);
      if (queue.length > mostWaiting) {
        queue.shift();
        link.countDropped(1);
      }
      gathering ??= afterMs(gatheredForMs, go);
    },
    wake: lineOut.wake,
    /** Resolves when everything said so far was answered. */
    flush(): Promise<void> {
      go();
      lineOut.hurry();
      return lineOut.until(() => queue.length === 0 && lineOut.current() === null);
    },
  };
}

export type StepSender = ReturnType<typeof sendSteps>;

const callOf = (agentId: string, events: readonly StepEvent[]): LinkCall => ({
  path: `/api/v1/agents/${encodeURIComponent(agentId)}/steps`,
  body: events,
  background: true,
  understands: (body) => isObject(body) && typeof body["accepted"] === "number",
});
