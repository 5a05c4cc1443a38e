import type { Heartbeat, MonoMs, OpenWork } from "@rouse/contract";
import type { Activity } from "../facts.ts";
import type { HeartbeatSignal } from "../signal.ts";

/**
 * What the agent says it is doing. `since` stays when it goes on doing the same. `moved`: the beat also shows that work was done since the last
 * one, so a wait or a tool that looks the same is another one (the beats between were lost).
 */
export function readActivity(before: Activity, signal: HeartbeatSignal, moved: boolean, now: MonoMs): Activity {
  const { beat } = signal;
  switch (statedKind(beat)) {
    case "STARTING":
      return before.kind === "STARTING" ? before : { kind: "STARTING", since: now };
    case "IDLE":
      return before.kind === "IDLE" ? before : { kind: "IDLE", since: now };
    case "FINISHED":
      return before.kind === "FINISHED" ? before : { kind: "FINISHED", since: now };
    case "WAITING":
      return readWait(moved ? null : before, signal, now);
    case "RUNNING":
      return readRunning(before, beat.open ?? null, moved, now);
  }
}

/** Older agents report statuses that say more about health than activity; what they do then is still running. */
function statedKind(beat: Heartbeat): Activity["kind"] {
  switch (beat.status) {
    case undefined:
      return beat.waitingFor === undefined ? "RUNNING" : "WAITING";
    case "STARTING":
    case "RUNNING":
    case "WAITING":
    case "IDLE":
    case "FINISHED":
      return beat.status;
    case "TERMINATED":
      return "FINISHED";
    // That run is over, and nothing says that there is no other.
    case "FAILED":
      return "IDLE";
    case "DEGRADED":
    case "UNRESPONSIVE":
    case "QUARANTINED":
      return "RUNNING";
  }
}

function readWait(before: Activity | null, signal: HeartbeatSignal, now: MonoMs): Activity {
  const kind = signal.beat.waitingFor ?? "schedule";
  const same = before?.kind === "WAITING" && before.for === kind;
  const until = signal.waitsFor === null ? (same ? before.until : null) : now + signal.waitsFor;
  return { kind: "WAITING", since: same ? before.since : now, for: kind, until };
}

function readRunning(before: Activity, open: OpenWork | null, moved: boolean, now: MonoMs): Activity {
  const since = before.kind === "RUNNING" ? before.since : now;
  if (open === null)
    return before.kind === "RUNNING" && before.open === null ? before : { kind: "RUNNING", since, open: null };
  const same = !moved && before.kind === "RUNNING" && before.open !== null && isSameWork(before.open, open);
  return { kind: "RUNNING", since, open: { ...open, since: same && before.open !== null ? before.open.since : now } };
}

export const isSameWork = (a: OpenWork, b: OpenWork): boolean =>
  a.kind === b.kind && a.name === b.name && a.timeoutSeconds === b.timeoutSeconds;

/** Whether the second is the very stretch of work or waiting that the first was part of. */
export function goesOn(before: Activity, after: Activity): boolean {
  if (before.kind === "WAITING" && after.kind === "WAITING") return before.since === after.since;
  if (before.kind === "RUNNING" && after.kind === "RUNNING") {
    return before.open !== null && after.open !== null && before.open.since === after.open.since;
  }
  return false;
}
