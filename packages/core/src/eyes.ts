import { type DurationMs, type MonoMs, minutes } from "@rouse/contract";
import { lastBeatHeard } from "./facts.ts";
import type { AgentRecord } from "./record.ts";
import type { TreeEye } from "./terminal-facts.ts";

/** A way in which an agent is seen. */
type Eye = "beats" | "steps" | "output" | TreeEye | "children" | "terminal-read";

interface Seen {
  readonly eye: Eye;
  /** `unseen`: nobody could look. */
  readonly says: "at-work" | "quiet" | "unseen";
  /** When this eye last saw something, where that is known. */
  readonly at: MonoMs | null;
}

/** Signs of work count for this long. */
const lately: DurationMs = minutes(2);
const treeEyes: readonly TreeEye[] = ["cpu", "disk", "network", "files"];

/** The eyes on an agent and what each says, also those that could not look. */
export function eyesOn(record: AgentRecord, now: MonoMs): readonly Seen[] {
  const { beats } = record;
  const { steps, terminal } = record.seen;
  const heard = (eye: Eye, at: MonoMs | null): Seen => ({ eye, at, says: isRecent(at, now) ? "at-work" : "quiet" });
  const told: Seen[] = [
    ...(beats.accepted > 0 ? [heard("beats", lastBeatHeard(beats))] : []),
    ...(steps === null ? [] : [heard("steps", record.seen.facts.progress?.at ?? null)]),
  ];
  if (terminal === null) return told;
  return [...told, heard("output", terminal.wroteAt === null ? null : terminal.output.at), ...eyesOnTree(record, now)];
}

const isRecent = (at: MonoMs | null, now: MonoMs): boolean => at !== null && now - at < lately;

function eyesOnTree({ seen: { terminal } }: AgentRecord, now: MonoMs): readonly Seen[] {
  const tree = terminal?.tree ?? null;
  const unseen = (eye: Eye): Seen => ({ eye, says: "unseen", at: null });
  if (tree === null || !isRecent(tree.at, now))
    return [...treeEyes, "children" as const, "terminal-read" as const].map(unseen);
  const blind: Readonly<Record<TreeEye, boolean>> = {
    cpu: false,
    disk: false,
    network: tree.network === null,
    files: tree.files === null,
  };
  const busy = isRecent(tree.busyAt, now);
  return [
    ...treeEyes.map((eye): Seen => {
      if (blind[eye]) return unseen(eye);
      const saw = tree.busyBy.includes(eye);
      return { eye, says: saw && busy ? "at-work" : "quiet", at: saw ? tree.busyAt : null };
    }),
    { eye: "children", says: tree.processes > 1 ? "at-work" : "quiet", at: tree.youngestChildAt },
    tree.readsTerminal === null
      ? unseen("terminal-read")
      : { eye: "terminal-read", says: tree.readsTerminal ? "at-work" : "quiet", at: null },
  ];
}
