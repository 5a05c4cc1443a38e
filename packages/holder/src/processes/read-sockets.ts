import { readdirSync, readlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { endianness } from "node:os";

/** One connection of a process, as the kernel's tables show it. */
export interface SocketEntry {
  readonly inode: string;
  readonly localPort: number;
  readonly remote: { readonly address: string; readonly family: "ipv4" | "ipv6"; readonly port: number };
  /** Everything the table shows that only traffic changes: state, what waits in its queues, how eagerly it acknowledges. */
  readonly traces: string;
}

/** More open files than this are not read one by one while a terminal waits. */
const mostDescriptors = 4000;
const listening = "0A";

/** Inodes of all sockets the processes have open; `null` when one of them cannot be looked at. */
export function socketsOf(pids: readonly number[]): ReadonlySet<string> | null {
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

/** Connections among the tables of each network that one of the processes is in. Asked of a thread: long tables take long. */
export async function connectionsOf(pids: readonly number[], inodes: ReadonlySet<string>): Promise<SocketEntry[]> {
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

/** Words of four bytes, each in the order of this machine. */
function addressOf(end: string): { address: string; family: "ipv4" | "ipv6" } {
  const bytes = Buffer.from(end.slice(0, end.indexOf(":")), "hex");
  if (endianness() === "LE") bytes.swap32();
  if (bytes.length === 4) return { address: [...bytes].join("."), family: "ipv4" };
  return { address: (bytes.toString("hex").match(/.{4}/g) ?? []).join(":"), family: "ipv6" };
}

/** `gone` when it ended while we looked, `null` when it is hidden from us. */
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
