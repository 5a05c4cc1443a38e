import { execFile } from "node:child_process";
import { lookup } from "node:dns/promises";
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { BlockList } from "node:net";
import { endianness } from "node:os";
import type { ProcessFacts } from "@rouse/contract";

export type NetworkFacts = NonNullable<ProcessFacts["network"]>;

export interface NetworkWatch {
  /** `null`: a process of the tree is hidden from us, or has too many files open. */
  look(pids: readonly number[]): Promise<NetworkFacts | null>;
}

/**
 * Counts the connections of a tree and the bytes that went through them, a total that only grows. `monitor`: the
 * address of Rouse itself; what an agent tells Rouse is not its work.
 *
 * Where the kernel's counters cannot be read (no `ss`, UDP, a network namespace of its own) a connection whose traces
 * in the tables have changed counts as one byte: enough to see that it moves, never more than there was. A connection
 * that opens and closes between two looks is not seen.
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

/** `bytes`: as the kernel counts them, or as often as traces were seen to change. */
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

/** The host name is looked up when a connection to its port is first seen, and again for as long as that fails. */
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

/** One connection of a process, as the kernel's tables show it. */
interface SocketEntry {
  readonly inode: string;
  readonly localPort: number;
  readonly remote: { readonly address: string; readonly family: "ipv4" | "ipv6"; readonly port: number };
  /**
   * Everything the table shows that only traffic changes: state, what waits in its queues, how eagerly it acknowledges.
   */
  readonly traces: string;
}

/** More open files than this are not read one by one, because the terminal waits meanwhile. */
const mostDescriptors = 4000;
const listening = "0A";

/** Inodes of all sockets the processes have open; `null` when a process cannot be looked at. */
function socketsOf(pids: readonly number[]): ReadonlySet<string> | null {
  const inodes = new Set<string>();
  let looked = 0;
  for (const pid of pids) {
    const descriptors = read(() => readdirSync(`/proc/${pid}/fd`), []);
    if (descriptors === null) return null;
    looked += descriptors.length;
    if (looked > mostDescriptors) return null;
    for (const each of descriptors) {
      const inode = /^socket:\[(\d+)\]$/.exec(read(() => readlinkSync(`/proc/${pid}/fd/${each}`), "") ?? "")?.[1];
      if (inode !== undefined) inodes.add(inode);
    }
  }
  return inodes;
}

/** Reads the tables of each network namespace that a process is in. Asynchronous: long tables take long. */
async function connectionsOf(pids: readonly number[], inodes: ReadonlySet<string>): Promise<SocketEntry[]> {
  const networks = new Map(pids.map((pid) => [read(() => readlinkSync(`/proc/${pid}/ns/net`), null), pid]));
  const files = [...networks.values()].flatMap((pid) =>
    ["tcp", "tcp6", "udp", "udp6"].map((table) => `/proc/${pid}/net/${table}`),
  );
  const tables = await Promise.all(files.map((file) => readFile(file, "utf8").catch(() => "")));
  return tables.flatMap((table) => parseTable(table, inodes));
}

/** `sl local remote st tx:rx tr:when retrnsmt uid timeout inode …`, the first line being the header. */
export function parseTable(table: string, wanted: ReadonlySet<string>): SocketEntry[] {
  return table
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const [, local = "", remote = "", state = "", queues, , , , , inode = "", , , , ato, quick] = line
        .trim()
        .split(/\s+/);
      if (state === listening || !wanted.has(inode) || /^0*:0000$/.test(remote)) return [];
      const traces = [state, queues, ato, quick].join(" ");
      return [{ inode, localPort: portOf(local), remote: { ...addressOf(remote), port: portOf(remote) }, traces }];
    });
}

const portOf = (end: string): number => Number.parseInt(end.slice(end.indexOf(":") + 1), 16);

/** An address is printed as words of four bytes, each in the byte order of this machine. */
function addressOf(end: string): { address: string; family: "ipv4" | "ipv6" } {
  const bytes = Buffer.from(end.slice(0, end.indexOf(":")), "hex");
  if (endianness() === "LE") bytes.swap32();
  if (bytes.length === 4) return { address: [...bytes].join("."), family: "ipv4" };
  return { address: (bytes.toString("hex").match(/.{4}/g) ?? []).join(":"), family: "ipv6" };
}

/** `gone` when the process ended while we looked, `null` when it is hidden from us. */
function read<T>(look: () => T, gone: T): T | null {
  try {
    return look();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return gone;
    if (code === "EACCES" || code === "EPERM") return null;
    throw error;
  }
}

/** Not found by PATH: that may lead to a program of the agent. */
const places = ["/usr/bin/ss", "/bin/ss", "/usr/sbin/ss", "/sbin/ss", "/run/current-system/sw/bin/ss"];
const patienceMs = 2000;
const mostOutput = 8 * 1024 * 1024;
/** With more ports, listing all connections of the machine is cheaper than naming the ports. */
const mostPorts = 64;

/** Bytes by inode; a connection that is missing has no counter. `null`: this machine cannot tell. */
type CountBytes = (ports: ReadonlySet<number>) => Promise<ReadonlyMap<string, number> | null>;

/**
 * The kernel tells the bytes of a connection over netlink, which Node does not speak. `ss` (iproute2) does: about 4 ms
 * of one core each time. An `ss` that fails is not called again; one that takes too long throws.
 */
export function createByteCount(candidates: readonly string[] = places): CountBytes {
  let program = candidates.find((each) => existsSync(each)) ?? null;
  return async (ports) => {
    if (program === null) return null;
    const listed = await run(program, ports);
    if (listed === null) program = null;
    return listed === null ? null : parseListing(listed);
  };
}

function run(program: string, ports: ReadonlySet<number>): Promise<string | null> {
  const filter = [...ports].map((port) => `sport = :${port}`).join(" or ");
  const args = ["-tinHeO", ...(ports.size > mostPorts ? [] : [`( ${filter} )`])];
  const options = { env: { LC_ALL: "C" }, timeout: patienceMs, killSignal: "SIGKILL", maxBuffer: mostOutput } as const;
  return new Promise((resolve, reject) => {
    execFile(program, args, options, (error, output) => {
      if (error === null) resolve(output);
      else if (error.killed === true) reject(new Error("the list of connections took too long"));
      else resolve(null);
    });
  });
}

/** `ss` leaves out counters that are zero. It prints `cwnd` whenever the kernel told anything at all. */
export function parseListing(listing: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of listing.split("\n")) {
    const inode = /\bino:(\d+)/.exec(line)?.[1];
    if (inode === undefined || !line.includes(" cwnd:")) continue;
    const bytes = [...line.matchAll(/ bytes_(?:acked|received):(\d+)/g)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
    counts.set(inode, bytes);
  }
  return counts;
}
