import type { Policy } from "@rouse/contract";
import type { HeldActor } from "./held-actor.ts";
import type { HeldSickness } from "./held-life.ts";

const minute = 60_000;

/** What is the matter with an agent, as far as it makes a difference to what can be held against it. */
export const sicknessNames = [
  "silent: nothing but absence",
  "silent, reads its nudges",
  "request hangs",
  "tool hangs",
  "stream hangs",
  "loop in a stream",
  "loop on a screen",
  "failing",
  "idle, its owner's rule",
  "timer falls silent, the same",
  "crash",
  "crash loop",
] as const;
export type SicknessName = (typeof sicknessNames)[number];

export function nameSickness({ traits }: HeldActor, { kind }: HeldSickness): SicknessName {
  switch (kind) {
    case "looping":
      return traits.structured ? "loop in a stream" : "loop on a screen";
    case "failing":
      return "failing";
    case "request":
    case "tool":
    case "stuck":
    case "hung":
      if (traits.idleKill !== null) return "idle, its owner's rule";
      if (kind === "request") return "request hangs";
      if (kind === "tool") return "tool hangs";
      if (kind === "hung" && traits.structured) return "stream hangs";
      if (kind === "hung" && traits.rhythm === "seconds") return "timer falls silent, the same";
      if (kind === "stuck" && traits.beats && traits.readBy === "agent") return "silent, reads its nudges";
      return "silent: nothing but absence";
  }
}

/** Sicknesses that show nothing but absence: somebody is asked again and again, and only a decision stops the agent. */
export const isAbsenceOnly = (actor: HeldActor, sickness: HeldSickness): boolean =>
  nameSickness(actor, sickness) === "silent: nothing but absence";

/** The patience that an agent's own history earns: a quarter more than the longest quiet it came back from, up to five hours. */
const historyOf = ({ longestQuiet }: HeldActor): number => 1.25 * Math.min(longestQuiet, 240 * minute);

/** How long the matter may go without a verdict. */
export function detectedWithin(actor: HeldActor, policy: Policy): number {
  const { sickness } = actor.life;
  if (sickness === null) return minute;
  const { traits } = actor;
  const idle = traits.idleKill ?? Math.max(policy.terminal.idle, historyOf(actor));
  const busy = Math.max(policy.longestWait.children, historyOf(actor));
  const quiet = (sickness.busy ? busy : idle) + 10 * minute;
  switch (sickness.kind) {
    case "stuck":
    case "request":
      return quiet;
    // What it declared is waited for first: a quarter of an hour at most.
    case "tool":
      return quiet + 16 * minute;
    case "hung":
      return traits.beats && traits.rhythm !== "once" && traits.rhythm !== "irregular"
        ? 4 * policy.beatInterval + 10 * minute
        : quiet;
    case "looping":
      return 20 * minute;
    case "failing":
      return (policy.consecutiveFailures + 5) * policy.beatInterval;
  }
}
