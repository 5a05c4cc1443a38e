import type { NudgeDelivery, NudgeRefusal } from "@rouse/contract";
import { followSteered, type SteeredWords } from "@rouse/core";
import type { HolderLog } from "../holder-log.ts";
import type { Nudge } from "../nudge/type-nudge.ts";
import type { Steered } from "./call-codex.ts";
import type { CodexTurn } from "./find-codex-turn.ts";

export type SteerNudges = ReturnType<typeof nudgeBySteer>;

/** `words` is `null` once they were read. */
interface Given {
  readonly id: string;
  readonly words: SteeredWords | null;
  readonly sent: boolean;
}

/** Puts a message into a turn through Codex's server. No key is pressed: a half-typed line stays as it is. */
export function nudgeBySteer(openTurn: () => CodexTurn | null, catchUp: () => void, log: HolderLog) {
  let over = false;
  /** A turn whose server failed: until the next turn messages go another way. */
  let closedTo: string | null = null;
  let given: Given | null = null;

  function find(): CodexTurn | null {
    const turn = over ? null : openTurn();
    return turn?.turn === closedTo ? null : turn;
  }

  /** Asked right before the words are sent: connecting took a moment. */
  function begin(nudge: Nudge, { turn }: CodexTurn): NudgeRefusal | null {
    if (over) return "over";
    if (Date.now() > nudge.notAfter) return "expired";
    catchUp();
    if (openTurn()?.turn !== turn || !nudge.begin()) return "no-input";
    given = { id: nudge.id, words: { id: nudge.id, taken: false }, sent: false };
    return null;
  }

  /** Loads the code that talks to Codex only here: most holders never need it. */
  async function steer(turn: CodexTurn, nudge: Nudge): Promise<Steered> {
    const loaded = await import("./call-codex.ts").catch((error: unknown) => String(error));
    if (typeof loaded === "string") return { kind: "unreachable", because: loaded };
    return loaded.steerCodex(turn, nudge, () => begin(nudge, turn));
  }

  return {
    /** A turn is under way that a message can be put into. */
    possible: () => find() !== null,
    /** `null`: the server cannot be reached, and nothing was sent. */
    async give(nudge: Nudge): Promise<NudgeDelivery | null> {
      const turn = find();
      if (turn === null) return null;
      const said = await steer(turn, nudge);
      if (said.kind === "held-back") return { kind: "not-sent", because: said.because };
      if (said.kind === "steered") {
        if (given?.id === nudge.id) given = { ...given, sent: true };
        return { kind: "sent", channel: "steer", echoed: false };
      }
      closedTo = turn.turn;
      log(`Codex's server could not be used: ${said.because}`);
      switch (said.kind) {
        case "unreachable":
          return null;
        case "refused":
          return { kind: "not-sent", because: "refused" };
        case "unanswered":
          return { kind: "not-sent", because: "not-echoed" };
      }
    },
    /** Takes a line of the session file. */
    heard(line: string): void {
      if (given !== null && given.words !== null) given = { ...given, words: followSteered(given.words, line) };
    },
    /** The nudge that the session file has shown to have been read: returned once, and not before it was sent. */
    read(): string | null {
      if (given === null || given.words !== null || !given.sent) return null;
      const { id } = given;
      given = null;
      return id;
    },
    /** The agent has ended. */
    end(): void {
      over = true;
    },
  };
}
