import { lookup } from "node:dns/promises";
import { BlockList } from "node:net";
import type { ProcessFacts } from "@rouse/contract";
import { type CountBytes, createByteCount } from "./count-socket-bytes.ts";
import { connectionsOf, type SocketEntry, socketsOf } from "./read-sockets.ts";

export type NetworkFacts = NonNullable<ProcessFacts["network"]>;

export interface NetworkWatch {
  /** `null`: a process of the tree is hidden from us, or has too much open. */
  look(pids: readonly number[]): Promise<NetworkFacts | null>;
}

/**
 * Connections of a tree and what went through them, a total that only grows. `monitor`: the address of Rouse itself; what an agent tells us is not its work.
 *
 * Where the kernel's counters cannot be read (no `ss`, UDP, a network of its own) a connection whose traces in the tables have changed counts as one byte: enough to see
 * that it moves, never more than there was. What opens and closes between two looks is not seen.
 */
export function createNetworkWatch(monitor: string | null, countBytes: CountBytes = createByteCount()): NetworkWatch {
  const isMonitor = createMonitorTest(monitor);
  let bytes = 0;
  let last = new Map<string, Seen>();

  return {
    async look(pids) {
      const inodes = socketsOf(pids);
      if (inodes === null) return null;
      const open = inodes.size === 0 ? [] : await connectionsOf(pids, inodes);
      const foreign = await leaveOut(open, isMonitor);
      const counts = foreign.length === 0 ? null : await countBytes(new Set(foreign.map(({ localPort }) => localPort)));
      const now = new Map(
        foreign.map((each) => [each.inode, see(each, counts?.get(each.inode), last.get(each.inode))]),
      );
      for (const [inode, seen] of now) bytes += growth(last.get(inode), seen);
      last = now;
      return { sockets: now.size, bytes };
    },
  };
}

/** `bytes`: as the kernel counts them, or as many as we have seen signs of. */
interface Seen {
  readonly bytes: number;
  readonly traces: string;
}

function see({ traces }: SocketEntry, counted: number | undefined, before: Seen | undefined): Seen {
  if (counted !== undefined) return { traces, bytes: counted };
  return { traces, bytes: (before?.bytes ?? 0) + (before?.traces === traces ? 0 : 1) };
}

const growth = (before: Seen | undefined, now: Seen): number => Math.max(0, now.bytes - (before?.bytes ?? 0));

type MonitorTest = (entry: SocketEntry) => Promise<boolean>;

async function leaveOut(entries: readonly SocketEntry[], isMonitor: MonitorTest): Promise<SocketEntry[]> {
  const kept: SocketEntry[] = [];
  for (const entry of entries) if (!(await isMonitor(entry))) kept.push(entry);
  return kept;
}

/** A name is looked up when a connection to its port is first seen, and again for as long as that fails. */
function createMonitorTest(monitor: string | null): MonitorTest {
  const url = monitor !== null && URL.canParse(monitor) ? new URL(monitor) : null;
  if (url === null) return async () => false;
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  let addresses: BlockList | null = null;
  return async ({ remote }) => {
    if (remote.port !== port) return false;
    addresses ??= await addressesOf(url.hostname);
    return addresses?.check(remote.address, remote.family) ?? false;
  };
}

async function addressesOf(hostname: string): Promise<BlockList | null> {
  const found = await lookup(hostname.replace(/^\[|\]$/g, ""), { all: true }).catch(() => []);
  if (found.length === 0) return null;
  const list = new BlockList();
  for (const { address, family } of found) list.addAddress(address, family === 6 ? "ipv6" : "ipv4");
  return list;
}
