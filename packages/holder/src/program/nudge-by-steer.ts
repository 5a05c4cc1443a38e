import type { NudgeDelivery, NudgeRefusal } from "@rouse/contract";
import { followSteered, type SteeredWords } from "@rouse/core";
import type { HolderLog } from "../holder-log.ts";
import type { Nudge } from "../nudge/type-nudge.ts";
import type { Steered } from "./call-codex.ts";
import type { CodexTurn } from "./find-codex-turn.ts";

/**
 * Puts a message into a turn of Codex through the server that runs it. No key is pressed: a person's half-typed line
 * stays as it is.
 */
export interface SteerNudges {
  /** A turn is under way that a message can be put into. */
  possible(): boolean;
  /** `null`: its server cannot be reached, and nothing was sent. */
  give(nudge: Nudge): Promise<NudgeDelivery | null>;
  /** Takes a line of the session file. */
  heard(line: string): void;
  /** The nudge that the session file has shown to have been read: returned once, and not before it was sent. */
  read(): string | null;
  /** The agent has ended. */
  end(): void;
}

/** `words` is `null` once they were read. */
interface Given {
  readonly id: string;
  readonly words: SteeredWords | null;
  readonly sent: boolean;
}

export function nudgeBySteer(openTurn: () => CodexTurn | null, catchUp: () => void, log: HolderLog): SteerNudges {
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

  /**
   * Loads the code that talks to Codex only here: most agents are other programs, and most holders never send a
   * message.
   */
  async function steer(turn: CodexTurn, nudge: Nudge): Promise<Steered> {
    const loaded = await import("./call-codex.ts").catch((error: unknown) => String(error));
    if (typeof loaded === "string") return { kind: "unreachable", because: loaded };
    return loaded.steerCodex(turn, nudge, () => begin(nudge, turn));
  }

  return {
    possible: () => find() !== null,
    async give(nudge) {
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
    heard(line) {
      if (given !== null && given.words !== null) given = { ...given, words: followSteered(given.words, line) };
    },
    read() {
      if (given === null || given.words !== null || !given.sent) return null;
      const { id } = given;
      given = null;
      return id;
    },
    end() {
      over = true;
    },
  };
}
