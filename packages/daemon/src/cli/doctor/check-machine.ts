import { totalmem, uptime } from "node:os";
import { describeDuration, type EpochMs, seconds } from "@rouse/contract";
import { type Check, describeBytes, fail, mebibyte, ok, warn } from "./check.ts";

export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const recent = major > 20 || (major === 20 && minor >= 19);
  if (recent) return ok("node", version);
  return fail("node", `${version} is too old`, "install Node 20.19 or newer");
}

interface Clocks {
  /** Both count from the start of the machine; only `boot` also counts while it sleeps. */
  readonly boot: number;
  readonly mono: number;
  readonly wall: EpochMs;
}

export function readClocks(): Clocks {
  return { boot: seconds(uptime()), mono: Number(process.hrtime.bigint() / 1_000_000n), wall: Date.now() };
}

/** A clock that shows a time before this code was written is wrong. */
const earliest: EpochMs = Date.parse("2026-01-01T00:00:00Z");
const tolerance = seconds(5);

export function checkClocks({ boot, mono, wall }: Clocks, startedAt: string | null): Check {
  const started = startedAt === null ? Number.NaN : Date.parse(startedAt);
  if (wall < earliest || wall + tolerance < started) {
    const advice = "set the clock; Rouse judges by monotonic time, but the dates it shows will be wrong";
    return warn("clock", `the wall clock says ${new Date(wall).toISOString()}, which is in the past`, advice);
  }
  // In some containers uptime is the container's and says nothing about the machine.
  if (boot + tolerance < mono) {
    const advice = "a suspend of this machine will look like a stall";
    return warn("clock", "time since boot runs behind monotonic time", advice);
  }
  const slept = boot - mono;
  if (slept < tolerance) return ok("clock", "all clocks agree");
  return ok("clock", `agree; the machine slept ${describeDuration(slept)} since it started`);
}

export function checkMemory(free = process.availableMemory(), limit = memoryLimit()): Check {
  const text = `${describeBytes(free)} of ${describeBytes(limit)} available`;
  if (free < 64 * mebibyte) return fail("memory", text, "free some: Rouse itself would be stopped first");
  if (free < 256 * mebibyte) return warn("memory", text, "enough for a few hundred agents; give it more for many");
  return ok("memory", text);
}

const memoryLimit = (): number => Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
