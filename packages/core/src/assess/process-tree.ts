import { type DurationMs, type MonoMs, minutes, type Policy } from "@rouse/contract";
import type { AgentRecord } from "../record.ts";
import type { TreeFacts } from "../terminal-facts.ts";

/** CPU or IO this lately is work going on. */
const busyWithin: DurationMs = minutes(2);

/** Processes that did next to nothing for this long are quiet: two minutes, or less where less patience with their output was asked for. */
export const quietAfter = ({ terminal }: Policy): DurationMs => Math.min(busyWithin, terminal.idle);

/** A reading that was not renewed although the agent was heard says nothing about now. What its holder saw counts as of then, however late it comes. */
const isCurrent = (tree: TreeFacts, { beats, seen: { terminal } }: AgentRecord): boolean =>
  Math.max(terminal?.seenAt ?? tree.at, beats.lastAt ?? tree.at) - tree.at <= busyWithin;

export type TreeState =
  /** `until`: from then on it counts as quiet, unless it is seen at work again. */
  | { readonly kind: "busy"; readonly until: MonoMs }
  | { readonly kind: "quiet" }
  /** Nobody could look, or nobody holds it. `wasBusy`: it was at work when somebody last could. */
  | { readonly kind: "unknown"; readonly wasBusy: boolean };

/** What the processes of a held agent do. Nobody has looked since the last reading: not having seen them at work since then is not having seen them rest. */
export function stateOfTree(record: AgentRecord, policy: Policy): TreeState {
  const tree = record.seen.terminal?.tree ?? null;
  if (tree === null) return { kind: "unknown", wasBusy: false };
  const until = tree.busyAt + quietAfter(policy);
  const busy = until > tree.at;
  if (!isCurrent(tree, record)) return { kind: "unknown", wasBusy: busy };
  return busy ? { kind: "busy", until } : { kind: "quiet" };
}

/** By which eyes: whoever changes a file below its folder may be somebody else, and one reading shows no rate. */
export function describeWork(tree: TreeFacts | null): string {
  const eyes = tree?.busyBy ?? [];
  if (eyes.length === 0) return ", but its processes have not been watched for long";
  return eyes.every((eye) => eye === "files")
    ? ", but files below its folder change"
    : ", but its processes are at work";
}

/** Processes at work are work going on, whatever else is missing, for as long as children may be waited for. Losing sight of them is not seeing them rest. */
export const mayBeBuilding = (tree: TreeState, quietFor: DurationMs, policy: Policy): boolean =>
  (tree.kind === "busy" || (tree.kind === "unknown" && tree.wasBusy)) && quietFor < policy.longestWait.children;
