import type { AgentHealth, Question, SavedEvent } from "@rouse/contract";
import { until } from "../until.ts";
import { quotaSeconds } from "./scenarios.ts";
import { eventOf, isOnce, type Story, sayingOf, seconds, timeOf } from "./story.ts";
import { agentName, type Saying, type Watched } from "./watch-program.ts";

const waitKnownWithin = 5000;
const waits = ({ activity }: AgentHealth): boolean => activity.kind === "WAITING" && activity.for === "provider";

/** Put off by its provider: that is known, nobody touches it, and it goes on. */
export function putOff(lastsSeconds: number): Story {
  return {
    may: ["restart"],
    well: true,
    async play(watched) {
      const refusedAt = await until("the model refuses", () => watched.model.refusedAt, 60_000);
      const liftedAt = refusedAt + lastsSeconds * 1000;
      const told = await sayingOf(watched, "WAITING for its provider", waitKnownWithin, waits);
      const within = watched.cell.continues === true ? continuesWithin : resumeWithin;
      const wentOn = await until("it goes on", () => goneOn(watched, liftedAt), lastsSeconds * 1000 + within);
      // An agent that is over has no activity of its own: whether it was left alone is asked of the events.
      const early = watched
        .events(...interventions)
        .filter((event) => timeOf(event) < liftedAt || watched.cell.continues);
      if (early.length > 0) throw new Error(`${early.map(({ type }) => type).join(", ")} while it waited`);
      // The first eye that tells of it need not know when it ends.
      const during = watched.sayings.filter(({ at }) => at >= told.at && at < liftedAt - settled);
      if (watched.cell.continues === true) mustWaitAllTheWhile(during);
      const last = during.findLast(({ health }) => waits(health)) ?? told;
      const end = endOfWait({ ...last, at: told.at }, liftedAt);
      return { said: `WAITING for its provider${end}, then ${wentOn}`, seconds: seconds(told.at - refusedAt) };
    },
  };
}

export const settled = 2000;

/** Whatever its program draws meanwhile. */
function mustWaitAllTheWhile(during: readonly Saying[]): void {
  const other = during.find(({ health }) => !waits(health));
  if (other !== undefined) throw new Error(`it was ${other.health.activity.kind} while its limit stood`);
}

/**
 * At the advertised reset the quota is still used up: the agent waits until it is not, and its model is not asked to
 * find out.
 */
export const quota: Story = {
  may: ["restart"],
  well: true,
  async play(watched) {
    const { model } = watched;
    const refusedAt = await until("the model refuses", () => model.refusedAt, 60_000);
    const liftedAt = refusedAt + quotaSeconds * 1000;
    const waits = await eventOf(watched, "RESTART_PUT_OFF", quotaSeconds * 1000);
    const { resetsInSeconds } = waits.payload as { resetsInSeconds: number | null };
    const off = Math.abs((resetsInSeconds ?? 0) - (liftedAt - timeOf(waits)) / 1000);
    if (off > 5) throw new Error(`it is to reset in ${resetsInSeconds} s, which is ${Math.round(off)} s off`);
    const limit = await until("Rouse counts down to the new reset", () => limitOf(watched), 5000);
    if (Math.abs(limit - liftedAt) > 15_000) throw new Error(`it counts down to ${new Date(limit).toISOString()}`);
    const wentOn = await until("it goes on", () => goneOn(watched, liftedAt), quotaSeconds * 1000 + resumeWithin);
    const early = model.requests.filter(({ at }) => at > timeOf(waits) && at < liftedAt - 1000).length;
    if (early > 0) throw new Error(`its model was asked ${early} times while the quota was used up`);
    if (model.quotaReads.length < 2) throw new Error("it was started unasked");
    const known = seconds(liftedAt - timeOf(waits));
    return { said: `put off ${known} s before its quota was back, then ${wentOn}`, seconds: null };
  },
};

/** Until when Rouse says that its limit stands. */
async function limitOf({ daemon }: Watched): Promise<number | null> {
  const { limit } = await daemon.rouse.getAgentHealth(agentName);
  return limit === null ? null : Date.parse(limit.until);
}

const minute = 60_000;

/** A reset that is told in words has no seconds, and a margin is added to it. */
function endOfWait({ at, health }: Saying, liftedAt: number): string {
  if (health.activity.until === undefined) return "";
  const end = Date.parse(health.activity.until);
  const off = Math.abs(end - liftedAt);
  if (off > 2 * minute) throw new Error(`the end of its wait is ${Math.round(off / minute)} min off`);
  return ` for ${Math.round((end - at) / 1000)} s`;
}

const resumeWithin = 60_000;
/** Claude Code 2.1.325 says "continuing shortly" for about a minute and a half after the reset, and then does. */
const continuesWithin = 150_000;
const interventions = ["NUDGE_SENT", "TERMINATION_ORDERED", "RESTART_ORDERED", "ESCALATION_TRIGGERED"];

/** How it went on after it was put off, once it has. */
function goneOn({ cell, model, events }: Watched, liftedAt: number): string | null {
  const { goesOn = ["conversation"] } = cell;
  const asks = model.requests.some(
    ({ at, said, results }) => at >= liftedAt - 1000 && said === "answer" && results > 0,
  );
  if (asks && goesOn.includes("conversation")) {
    const again = events("AGENT_RESTARTED").length > 0;
    return again ? "brought back with its conversation" : "went on";
  }
  return goesOn.includes("person") && isTold(events("AGENT_NEEDS_YOU", "ESCALATION_TRIGGERED"))
    ? "a person is told"
    : null;
}

/** That it sits at its prompt, or at a menu of its own, says nothing about why. */
const isTold = (events: readonly SavedEvent[]): boolean =>
  events.some(({ payload }) => {
    const { what, reason } = payload as { what?: Question; reason?: string };
    return what === undefined ? reason === "limit-over" : what !== "prompt" && what !== "question";
  });

const refusalKnownWithin = 15_000;
/** Claude Code goes on trying for minutes. */
const givesUp = ({ cell }: Watched): boolean => isOnce({ cell } as Watched) && cell.program !== "claude";

/** Its key is refused: a person is told so, and nobody starts it again to see it refused once more. */
export const auth: Story = {
  may: [],
  well: false,
  async play(watched) {
    const refusedAt = await until("the model refuses", () => watched.model.refusedAt, 60_000);
    const isLogin = ({ payload }: SavedEvent) => (payload as { what?: Question }).what === "login";
    const told = await eventOf(watched, "AGENT_NEEDS_YOU", refusalKnownWithin, isLogin);
    const said = { said: "needs you: login", seconds: seconds(timeOf(told) - refusedAt) };
    if (!givesUp(watched)) return said;
    const closed = await eventOf(watched, "INCIDENT_CLOSED", 60_000);
    const { ending, because } = closed.payload as { ending: string; because: string };
    if (because !== "refused-by-provider") throw new Error(`its end was ${ending}: ${because}`);
    return { ...said, said: `${said.said}; not started again` };
  },
};
