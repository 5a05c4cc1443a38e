import { readdir, readFile, readlink } from "node:fs/promises";

const listening = "0A";

/** Who listens on a TCP port, as "process 4711 (node)". `null` when it cannot be told: not Linux, or a process of somebody else. */
export async function findListener(port: number): Promise<string | null> {
  const inodes = await socketsOn(port);
  if (inodes.size === 0) return null;
  for (const pid of (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry))) {
    if (await holdsOneOf(inodes, pid)) return `process ${pid} (${await nameOf(pid)})`;
  }
  return null;
}

/** The lines of /proc/net/tcp: number, local address:port in hex, remote, state, …, inode in the tenth column. */
async function socketsOn(port: number): Promise<Set<string>> {
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((table) => readFile(`/proc/net/${table}`, "utf8").catch(() => "")),
  );
  const rows = tables.flatMap((table) => table.split("\n").slice(1)).map((line) => line.trim().split(/\s+/));
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return new Set(
    rows.filter((row) => row[1]?.endsWith(wanted) && row[3] === listening).map((row) => `socket:[${row[9]}]`),
  );
}

async function holdsOneOf(inodes: ReadonlySet<string>, pid: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const files = await readdir(folder).catch(() => []);
  const targets = await Promise.all(files.map((file) => readlink(`${folder}/${file}`).catch(() => "")));
  return targets.some((target) => inodes.has(target));
}

async function nameOf(pid: string): Promise<string> {
  return (await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "?")).trim();
}
