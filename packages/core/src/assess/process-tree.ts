import { type DurationMs, type MonoMs, minutes, type Policy } from "@rouse/contract";
import type { AgentRecord } from "../record.ts";
import type { TreeFacts } from "../terminal-facts.ts";

/** CPU or IO this recent is work. */
const busyWithin: DurationMs = minutes(2);

/** Processes are quiet after two minutes of next to nothing, or less where the policy allows less quiet output. */
export const quietAfter = ({ terminal }: Policy): DurationMs => Math.min(busyWithin, terminal.idle);

/**
 * A reading that was not renewed although the agent was heard is out of date. Late reports count as of when they were
 * made.
 */
const isCurrent = (tree: TreeFacts, { beats, seen: { terminal } }: AgentRecord): boolean =>
  Math.max(terminal?.seenAt ?? tree.at, beats.lastAt ?? tree.at) - tree.at <= busyWithin;

export type TreeState =
  /** `until`: from then on the tree counts as quiet, unless it is seen at work again. */
  | { readonly kind: "busy"; readonly until: MonoMs }
  | { readonly kind: "quiet" }
  /** Nobody could look, or nobody holds the agent. `wasBusy`: it was at work at the last look. */
  | { readonly kind: "unknown"; readonly wasBusy: boolean };

/** What the processes of a held agent do, as of the last reading. */
export function stateOfTree(record: AgentRecord, policy: Policy): TreeState {
  const tree = record.seen.terminal?.tree ?? null;
  if (tree === null) return { kind: "unknown", wasBusy: false };
  const until = tree.busyAt + quietAfter(policy);
  const busy = until > tree.at;
  if (!isCurrent(tree, record)) return { kind: "unknown", wasBusy: busy };
  return busy ? { kind: "busy", until } : { kind: "quiet" };
}

/** A file below its folder may be changed by somebody else, and one reading shows no rate. */
export function describeWork(tree: TreeFacts | null): string {
  const eyes = tree?.busyBy ?? [];
  if (eyes.length === 0) return ", but its processes have not been watched for long";
  return eyes.every((eye) => eye === "files")
    ? ", but files below its folder change"
    : ", but its processes are at work";
}

/**
 * Busy processes may be a long build, within the longest wait for children. Losing sight of them is not seeing them
 * rest.
 */
export const mayBeBuilding = (tree: TreeState, quietFor: DurationMs, policy: Policy): boolean =>
  (tree.kind === "busy" || (tree.kind === "unknown" && tree.wasBusy)) && quietFor < policy.longestWait.children;
