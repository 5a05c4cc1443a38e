import {
  findingKinds,
  printable,
  type RunningProcess,
  type SharedTurn,
  type SparedProcess,
  type StopDetails,
  type TreeTier,
} from "@rouse/contract";
import { nearestName } from "../../config/nearest-name.ts";

/** A word of a closed set, as a person would write it. */
export const inWords = (code: string): string => code.replaceAll("-", " ").replaceAll("_", " ");

/** "1 beat", "3 beats". */
export const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;

/** "; did you mean worker-1?", where one of the known names is near enough to what was typed. */
export function didYouMean(typed: string, known: readonly string[]): string {
  const nearest = nearestName(typed, known);
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}

/** A clause as a sentence: with a capital letter and a full stop. */
export const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** What an incident is about. An escalation by a person may have no finding behind it. */
export const wordIllness = ({ illness, cause }: { readonly illness: string; readonly cause: string }): string =>
  (findingKinds as readonly string[]).includes(cause) ? `${illness}: ${inWords(cause)}` : "a question, nothing found";

/** Said where a process could have escaped. `spared`: a process was left alone, and is named beside it. */
export function wordNothingFound(tier: TreeTier | undefined, spared = false): string {
  const exception =
    tier === "cgroup"
      ? "Rouse cannot find a process that moved itself to another control group"
      : "Rouse cannot find a process that hid on purpose";
  return `none of its ${spared ? "other " : ""}processes was found any more (${exception})`;
}

export const countProcesses = ({ length }: readonly RunningProcess[]): string =>
  `${length} process${length === 1 ? "" : "es"}`;

/** Process names are cleaned: a process chooses its own. */
export const listProcesses = (processes: readonly RunningProcess[]): string =>
  processes.map(({ pid, name }) => `${pid} ${printable(name, 40)}`).join(", ");

/** What became of a turn in a server that other agents use as well, so that a stop does not end the server. */
export function wordSharedTurn(turn: SharedTurn): string {
  switch (turn) {
    case "interrupted":
      return "its turn in Codex's shared server was interrupted";
    case "none":
      return "Codex's shared server goes on, without a turn of it";
    case "may-go-on":
      return "a turn of it may go on in Codex's shared server";
  }
}

/** Servers that ended with an agent, which people may have used, and processes left alone because of other agents. */
export const wordDetails = ({ servers = [], spared = [] }: Pick<StopDetails, "servers" | "spared">): string[] => [
  ...(servers.length === 0 ? [] : [`with it ended: ${servers.map(wordProcess).join(", ")}`]),
  ...spared.map((each) => `left alone: ${wordProcess(each)}, ${wordReason(each)}`),
];

/** tmux calls its server `tmux: server`. Names are chosen by the processes themselves. */
const wordProcess = ({ pid, name }: { readonly pid: number; readonly name: string }): string =>
  `${printable(name, 40).replace(/:.*/, "")} (${pid})`;

function wordReason({ agents, because }: SparedProcess): string {
  const names = `agent${agents.length === 1 ? "" : "s"} ${agents.map((name) => printable(name, 60)).join(", ")}`;
  if (because === "is-another") return `which belongs to ${names}`;
  return `${names} ${agents.length === 1 ? "runs" : "run"} in it`;
}
