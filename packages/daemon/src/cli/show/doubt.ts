import type { EpochMs, FleetCause, GapCause, HoldCause, Restraint, SelfDoubtReport } from "@rouse/contract";
import type { Surroundings } from "../surroundings.ts";
import { cutLine, type Line, styled } from "../text/styled-text.ts";
import { ago, countdown, describeSeconds, lasting } from "../text/tell-time.ts";

const gaps: Readonly<Record<GapCause, string>> = {
  stall: "Rouse stood still",
  suspend: "the machine slept",
  "clock-step": "the wall clock was set",
  restart: "Rouse was not running",
  "store-outage": "Rouse could not save anything",
};

const holds: Readonly<Record<HoldCause, string>> = {
  "mass-silence": "many fell silent at once, which points to the way between them and the monitor",
  "path-unproven": "the monitor's own test beat does not get through",
};

/** What happened to the agents of a fleet incident, and what those that did not come back are. */
export const together: Readonly<Record<FleetCause, readonly [did: string, are: string]>> = {
  "mass-silence": ["fell silent", "silent"],
  "mass-failure": ["ended", "down"],
};

/** Why a finding leads to a milder verdict than it could. */
export const restraintWords: Readonly<Record<Restraint, string>> = {
  amnesty: "the monitor was blind for a while, so everyone first gets time to be heard",
  ...holds,
  unwitnessed: "nobody else is heard either, so the silence may be ours",
  "mass-failure": "it ended together with others, and is told of with them",
  gathering: "others may have ended with it, which shows within seconds",
  "open-work": "the agent said that a tool or a model is at work",
  waiting: "the agent said that it waits",
  starting: "the agent is still starting",
};

/** What keeps Rouse from acting now, one row each: a store that cannot be written, freeze, hold, amnesty. */
export function describeRestraint(doubt: SelfDoubtReport, now: EpochMs, width: number): Line[] {
  const { frozen, lastGap, amnestyUntil, storeDownSince } = doubt;
  const lines: Line[] = [];
  if (frozen !== null)
    lines.push([
      styled("yellow", "FROZEN"),
      ` for ${lasting(frozen.since, now)} (\`rouse thaw\` ends it): ${frozen.reason}`,
    ]);
  for (const { because, scope, since } of doubt.holds)
    lines.push([styled("yellow", "ON HOLD"), ` (${scope}) for ${lasting(since, now)}: ${holds[because] ?? because}`]);
  const left = amnestyUntil === undefined ? 0 : Date.parse(amnestyUntil) - now;
  if (left > 0 && lastGap !== null) {
    const gap = `${gaps[lastGap.cause] ?? lastGap.cause} for ${describeSeconds(lastGap.lastedSeconds)}`;
    lines.push([styled("dim", `amnesty for another ${countdown(left)}, no agent is judged by its silence: ${gap}`)]);
  }
  return [...tellOldNews(storeDownSince, { now: () => now, width }), ...lines.map((line) => cutLine(line, width))];
}

/** Says that the picture is outdated: while nothing can be saved, no agent is heard. */
export function tellOldNews(since: string | undefined, here: Pick<Surroundings, "now" | "width">): Line[] {
  if (since === undefined) return [];
  const text = ` for ${lasting(since, here.now())}: this is as of then; \`rouse doctor\` says why`;
  return [cutLine([styled("red", "CANNOT SAVE"), text], here.width)];
}

/** What the monitor doubts about itself. Empty when nothing. */
export function describeDoubt(doubt: SelfDoubtReport, now: EpochMs): Line[] {
  const lines: Line[] = [];
  const { frozen, lastGap } = doubt;
  if (frozen !== null) {
    lines.push([
      styled("yellow", "frozen"),
      ` by ${frozen.as === undefined ? frozen.actor : `${frozen.actor} (as ${frozen.as})`} ${ago(frozen.since, now)}: ${frozen.reason}`,
    ]);
  }
  for (const { because, scope, since } of doubt.holds) {
    lines.push([styled("yellow", "on hold"), ` (${scope}) for ${lasting(since, now)}: ${holds[because] ?? because}`]);
  }
  for (const { id, because, scope, since, members, came, escalation } of doubt.fleetIncidents) {
    const asked = escalation === null ? "" : `; \`rouse escalations show ${escalation}\``;
    const [did, are] = together[because];
    const left = members === came ? `all ${came}` : String(members);
    lines.push([
      styled("red", `fleet incident ${id}`),
      ` (${scope}) for ${lasting(since, now)}: ${came} agents ${did} together, ${left} are still ${are}${asked}`,
    ]);
  }
  if (lastGap !== null) {
    const lasted = describeSeconds(lastGap.lastedSeconds);
    lines.push([`blind for ${lasted} until ${ago(lastGap.endedAt, now)}: ${gaps[lastGap.cause] ?? lastGap.cause}`]);
  }
  if (doubt.lagSeconds >= 0.1) lines.push([`runs ${doubt.lagSeconds.toFixed(1)} s late, so it waits that much longer`]);
  return lines;
}
