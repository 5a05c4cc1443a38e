import type { SharedTurn } from "@rouse/contract";

/** What a stop has not ended, because others use it. */
export function wordSharedTurn(turn: SharedTurn): string {
  switch (turn) {
    case "interrupted":
      return "its turn in the server that other Codex use was interrupted";
    case "none":
      return "the server that other Codex use goes on, without a turn of it";
    case "may-go-on":
      return "a turn of it may go on in the server that other Codex use";
  }
}
