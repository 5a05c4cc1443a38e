import type { HeartbeatAck } from "@rouse/contract";
import { afterwards } from "./clean-up.ts";
import { sendBeat } from "./send-request.ts";
import type { Daemon } from "./start-daemon.ts";

export interface BeatingAgent {
  readonly agentId: string;
  /** How each beat was answered, 0 when it was not. */
  readonly answers: { readonly status: number; readonly ack: HeartbeatAck | null }[];
  /** How many beats are on their way. */
  waiting(): number;
  /** Falls silent, without a word; resolves when its last beat was answered. */
  fallSilent(): Promise<void>;
}

/** Beats by a timer, as most agents do, and does not wait for one answer before the next beat. */
export function startBeating(daemon: Daemon, agentId: string, every = 400): BeatingAgent {
  const answers: BeatingAgent["answers"] = [];
  const underWay = new Set<Promise<void>>();
  const beat = (): void => {
    const sent = sendBeat(daemon, { agentId, status: "RUNNING" })
      .then(({ status, json }) => ({ status, ack: json as HeartbeatAck }))
      .catch(() => ({ status: 0, ack: null }))
      .then((answer) => {
        answers.push(answer);
        underWay.delete(sent);
      });
    underWay.add(sent);
  };
  const timer = setInterval(beat, every);
  beat();
  const fallSilent = async (): Promise<void> => {
    clearInterval(timer);
    await Promise.all(underWay);
  };
  afterwards(() => clearInterval(timer));
  return { agentId, answers, waiting: () => underWay.size, fallSilent };
}
