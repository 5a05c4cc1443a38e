import { type AgentAnswer, type Command, longestCommandId, type RecoveryContext } from "@rouse/contract";
import { asRecovery, isObject } from "../read-recovery.ts";
import type { Nudge, StopRequest } from "./agent-api.ts";
import { oneOf, shorten } from "./gather-facts.ts";
import type { Receipts } from "./send-beats.ts";

type Hear = (nudge: Nudge) => unknown;

/** As many as one beat may name. */
const mostSeen = 20;
const mostRemembered = 500;
const mostUnheard = 50;
/** Rouse says again what was not read. */
const mostAtOnce = 100;

export interface CommandParts {
  /** A beat at once: everything that is not closed is told again. */
  readonly checkIn: () => void;
  readonly resetBreaker: (operation: string) => void;
  readonly recover: (context: RecoveryContext) => void;
  readonly stop: (request: StopRequest) => Promise<boolean>;
  /** There is something to say with the next beat. */
  readonly changed: () => void;
  readonly onWarning: (text: string) => void;
  /** What answers there is no Rouse. */
  readonly onMistake: (error: unknown) => void;
}

/**
 * What Rouse asks with its acknowledgements. A nudge counts as seen by the agent only after a handler of the author has
 * taken it; one that comes before anybody listens waits.
 */
export function hearCommands(parts: CommandParts) {
  const known = new Set<string>();
  const handlers = { nudge: new Set<Hear>(), handoff: new Set<Hear>() };
  const unheard: { readonly kind: keyof typeof handlers; readonly nudge: Nudge }[] = [];
  /** Read by the SDK, and read by the agent: a beat names only those of one reader. */
  const read = { program: new Set<string>(), agent: new Set<string>() };
  const answers: AgentAnswer[] = [];

  function note(reader: keyof typeof read, id: string): void {
    if (read[reader].size < mostRemembered) read[reader].add(id);
    parts.changed();
  }

  function isNew({ id }: Command): boolean {
    if (known.has(id)) return false;
    known.add(id);
    const [oldest] = known;
    if (known.size > mostRemembered && oldest !== undefined) known.delete(oldest);
    return true;
  }

  function hear(command: Command): void {
    if (command.kind === "check-in") return parts.checkIn();
    if (!isNew(command)) return;
    switch (command.kind) {
      case "recovery": {
        const context = asRecovery(command.recovery);
        if (context !== null) parts.recover(context);
        return;
      }
      case "reset-breaker":
        if (command.breaker !== undefined) parts.resetBreaker(command.breaker);
        return note("program", command.id);
      case "nudge":
        return hearNudge(command);
    }
  }

  function hearNudge({ id, because, message = "" }: Command): void {
    if (because === "task-taken") {
      void parts.stop({ because, message }).then((taken) => note(taken ? "agent" : "program", id));
      return;
    }
    const answer: Nudge["answer"] = (kind, text) => {
      const known = oneOf<AgentAnswer["kind"]>(["update", "handoff", "blocker"], kind);
      answers.push({ to: id, kind: known, ...(text === undefined ? {} : { text: shorten(text, 1000) }) });
      parts.changed();
    };
    const nudge: Nudge = { id, because, message, answer };
    const kind = because === "hand-off" ? "handoff" : "nudge";
    if (handlers[kind].size > 0) void give(kind, nudge);
    else {
      unheard.push({ kind, nudge });
      if (unheard.length > mostUnheard) unheard.shift();
      note("program", id);
    }
  }

  async function give(kind: keyof typeof handlers, nudge: Nudge): Promise<void> {
    const outcomes = await Promise.allSettled([...handlers[kind]].map(async (take) => take(nudge)));
    for (const outcome of outcomes) {
      if (outcome.status === "rejected")
        parts.onWarning(
          `a handler of ${kind === "nudge" ? "onNudge" : "onHandoff"} failed: ${shorten(outcome.reason, 500)}`,
        );
      else if (typeof outcome.value === "string")
        nudge.answer(kind === "handoff" ? "handoff" : "update", outcome.value);
    }
    if (outcomes.some(({ status }) => status === "fulfilled")) note("agent", nudge.id);
  }

  const listen =
    (kind: keyof typeof handlers) =>
    (take: Hear): (() => void) => {
      handlers[kind].add(take);
      const waiting = unheard.filter((one) => one.kind === kind);
      for (const one of waiting) unheard.splice(unheard.indexOf(one), 1);
      for (const { nudge } of waiting) void give(kind, nudge);
      return () => void handlers[kind].delete(take);
    };

  const receipts: Receipts = {
    take() {
      const reader = read.agent.size > 0 ? "agent" : "program";
      const seen = [...read[reader]].slice(0, mostSeen);
      const [answer] = answers;
      return {
        fields: {
          ...(seen.length === 0 ? {} : { seen, seenBy: reader }),
          ...(answer === undefined ? {} : { answer }),
        },
        heard() {
          for (const id of seen) read[reader].delete(id);
          if (answer !== undefined && answers[0] === answer) answers.shift();
          if (read.agent.size + read.program.size + answers.length > 0) parts.changed();
        },
      };
    },
  };

  return {
    hear: (commands: readonly unknown[]): void => {
      // Whatever answers there: a beat that names what is no id would be refused, and so would every beat after it.
      for (const command of commands.slice(0, mostAtOnce)) {
        if (isCommand(command)) hear(command);
        else parts.onMistake("no command");
      }
    },
    receipts,
    onNudge: listen("nudge"),
    onHandoff: listen("handoff"),
  };
}

function isCommand(said: unknown): said is Command {
  if (!isObject(said)) return false;
  const { id, because, message = "" } = said;
  return [id, because, message].every((text) => typeof text === "string") && String(id).length <= longestCommandId;
}
