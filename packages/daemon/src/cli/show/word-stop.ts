import { printable, type SharedTurn, type SparedProcess, type StopDetails } from "@rouse/contract";

/** What a stop has not ended, because others use it. */
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

/** What went with an agent that people may have used, and what did not go because of other agents. */
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
