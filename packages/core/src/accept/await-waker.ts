import type { MonoMs, Policy } from "@rouse/contract";
import type { Mark } from "../facts.ts";
import type { TerminalFacts } from "../terminal-facts.ts";
import type { Sighted } from "./read-sights.ts";

type Waker = NonNullable<TerminalFacts["wokenBy"]>;

/** What makes it go on by itself, by the word of its program or by what its screen shows. */
export const wakerOf = ({ wokenBy, asks }: Pick<TerminalFacts, "wokenBy" | "asks">): Waker | null =>
  wokenBy ?? asks?.wokenBy ?? null;

/** Its turn is over, and nobody is needed before it is woken. */
export function awaitWaker(sighted: Sighted, waker: Waker, at: MonoMs): void {
  const { activity, terminal } = sighted;
  const since = activity.kind === "WAITING" && activity.for === waker ? activity.since : at;
  terminal.wait = null;
  sighted.activity = { kind: "WAITING", since, for: waker, until: null };
}

/** What it left running may be a server that never ends. After so long it is one that stands at its prompt, like any other. */
export function stopAwaiting(sighted: Sighted, agentId: string, mark: Mark, at: MonoMs, policy: Policy): void {
  const { terminal, activity } = sighted;
  const waker = wakerOf(terminal);
  if (waker === null || activity.kind !== "WAITING" || activity.for !== waker) return;
  if (at - activity.since < policy.longestWait[waker]) return;
  terminal.wokenBy = null;
  terminal.turnEndedAt = mark;
  const { asks } = terminal;
  if (asks === null) {
    sighted.activity = { kind: "RUNNING", since: at, open: null };
    return;
  }
  const { what, since, untold } = asks;
  const pattern = "waited for long enough";
  if (untold === true) sighted.events.push({ type: "AGENT_NEEDS_YOU", payload: { agentId, what, pattern } });
  terminal.asks = { what, since };
  terminal.wait = "input";
  sighted.activity = { kind: "WAITING", since, for: "input", until: null };
}
