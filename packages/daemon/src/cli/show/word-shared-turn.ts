import type { SharedTurn } from "@rouse/contract";

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
