import { type DurationMs, type EpochMs, type MonoMs, type ProcessFacts, seconds } from "@rouse/contract";
import type { TreeEye, TreeFacts } from "../terminal-facts.ts";

/** A spinner uses a few hundredths of a core and writes next to nothing; builds and test runs use more than this. */
const busyShare = 0.08;
const busyBytesPerSecond = 50_000;
/**
 * Timers stay below this. Where only rest is looked for, anything above it counts: an answer through a pipe, a small
 * job.
 */
const stirringShare = 0.02;
const stirringBytesPerSecond = 200;
const shortestReading: DurationMs = seconds(1);

/** On the network and in files every change counts: a slow download and an edit now and then are work. */
export function readTree(
  before: TreeFacts | null,
  facts: ProcessFacts,
  at: MonoMs,
  agoOfWall: (wall: EpochMs) => MonoMs,
): TreeFacts {
  const { cpuMs, ioBytes, processes, memoryBytes } = facts;
  const { network = null, files = null, readsTerminal = null, youngestChildAt = null } = facts;
  const born = youngestChildAt === null ? null : agoOfWall(youngestChildAt);
  const lastRead = {
    bytes: network?.bytes ?? before?.lastRead.bytes ?? null,
    changes: files?.changes ?? before?.lastRead.changes ?? null,
  };
  const seen = { network, files, lastRead, readsTerminal, youngestChildAt: born };
  const now = { at, cpuMs, ioBytes, processes, memoryBytes, ...seen };
  if (before === null) return { ...now, stirredAt: at, busyAt: at, busyBy: [] };
  const elapsed = at - before.at;
  if (elapsed < shortestReading) return before;
  const stirs =
    cpuMs - before.cpuMs >= stirringShare * elapsed ||
    ioBytes - before.ioBytes >= (stirringBytesPerSecond * elapsed) / 1000 ||
    (born !== null && born > (before.youngestChildAt ?? Number.NEGATIVE_INFINITY) + seconds(1));
  const eyes: TreeEye[] = [];
  if (cpuMs - before.cpuMs >= busyShare * elapsed) eyes.push("cpu");
  if (ioBytes - before.ioBytes >= (busyBytesPerSecond * elapsed) / 1000) eyes.push("disk");
  const { bytes, changes } = before.lastRead;
  // Counters go on while nobody can read them, so the last value may be older than the last look.
  if (network !== null && bytes !== null && network.bytes > bytes) eyes.push("network");
  if (files !== null && changes !== null && files.changes > changes) eyes.push("files");
  // A first reading shows no rate: the tree counts as busy once, by no eye.
  const isNew = (network !== null && bytes === null) || (files !== null && changes === null);
  const isBusy = eyes.length > 0 || isNew;
  const stirredAt = isBusy || stirs ? at : before.stirredAt;
  return isBusy
    ? { ...now, stirredAt, busyAt: at, busyBy: eyes }
    : { ...now, stirredAt, busyAt: before.busyAt, busyBy: before.busyBy };
}
