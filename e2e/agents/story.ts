import { readFileSync, readlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentHealth, Question, SavedEvent } from "@rouse/contract";
import { processesOf } from "../end-agents.ts";
import { until } from "../until.ts";
import type { Watched } from "./watch-program.ts";

/** What Rouse said in the end, and how long it took to say it. */
export interface Told {
  readonly said: string;
  readonly seconds: number | null;
}

/** What may be done to the agent in a story; everything else harms it. */
export type Allowed = "nudge" | "restart";

export interface Story {
  readonly may: readonly Allowed[];
  /** Ill it must not be called. */
  readonly well: boolean;
  play(watched: Watched): Promise<Told>;
}

export const seconds = (ms: number): number => Math.max(0, Math.round(ms / 100) / 10);
export const timeOf = ({ time }: SavedEvent): number => Date.parse(time);
export const isOnce = ({ cell }: Watched): boolean => cell.mode === "stream" || cell.mode === "plain";

/** Waits for an event of the agent. */
export const eventOf = (
  watched: Watched,
  type: string,
  within: number,
  isIt: (event: SavedEvent) => boolean = () => true,
) => until(`Rouse tells ${type}`, () => watched.events(type).find(isIt), within);

export const sayingOf = (watched: Watched, what: string, within: number, isIt: (health: AgentHealth) => boolean) =>
  until(`Rouse says ${what}`, () => watched.sayings.find(({ health }) => isIt(health)), within);

export const requestOf = (
  watched: Watched,
  what: string,
  within: number,
  isIt: (r: Watched["model"]["requests"][number]) => boolean,
) => until(`the model ${what}`, () => watched.model.requests.find(isIt), within);

/** On a busy machine a program takes its time to start. */
export const atWork = (watched: Watched) => requestOf(watched, "is asked", 90_000, () => true);

/** The work is done: whoever was started for it alone is over, and a full screen waits for what is next. */
export async function ends(watched: Watched, within = 90_000): Promise<Told> {
  if (isOnce(watched)) {
    const exit = await eventOf(watched, "PROCESS_EXITED", within);
    const { code } = exit.payload as { code: number | null };
    if (code !== 0) throw new Error(`it ended with ${code}`);
    const over = await sayingOf(watched, "FINISHED", 5000, ({ activity }) => activity.kind === "FINISHED");
    return { said: "FINISHED, ended with 0", seconds: seconds(over.at - timeOf(exit)) };
  }
  const done = await until("the model is asked for the last time", () => lastAnswer(watched), within);
  const asks = await eventOf(watched, "AGENT_NEEDS_YOU", 15_000, (event) => timeOf(event) >= done);
  const { what } = asks.payload as { what: Question };
  if (what !== "prompt") throw new Error(`at its prompt Rouse says that it wants ${what}`);
  const early = watched.events("AGENT_NEEDS_YOU").filter((event) => timeOf(event) < done);
  if (early.length > 0) throw new Error(`Rouse said "needs you" ${early.length} times while it was at work`);
  return { said: "needs you: prompt", seconds: seconds(timeOf(asks) - done) };
}

/** When an answer without a call had been given. */
function lastAnswer({ model, cell }: Watched): number | null {
  const last = cell.scenario === "edits" ? 12 : cell.scenario === "tool" ? 1 : 4;
  return model.requests.find(({ results, answeredAt }) => results >= last && answeredAt !== null)?.answeredAt ?? null;
}

/** The program's own processes, detached ones too; neither Rouse, whose words name it, nor what it runs. */
export function processesOfProgram({ daemon, cell }: Watched): number[] {
  // Codex copies itself into its settings and runs its server from there.
  const settings = join(dirname(daemon.home), "settings");
  return processesOf(daemon.home).filter((pid) => {
    const { file, words } = commandOf(pid);
    if (file.startsWith(settings)) return true;
    return words.includes(`/clis/${cell.program}/`) && !/\/(?:rouse|holder)\.js /.test(words);
  });
}

/** What a process was started from and with; empty when it is gone. */
function commandOf(pid: number): { file: string; words: string } {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    return { file: readlinkSync(`/proc/${pid}/exe`), words };
  } catch {
    return { file: "", words: "" };
  }
}
