import { execFile } from "node:child_process";
import { existsSync } from "node:fs";

/** Only these: what a search path finds may be the agent's own. */
const places = ["/usr/bin/ss", "/bin/ss", "/usr/sbin/ss", "/sbin/ss", "/run/current-system/sw/bin/ss"];
const patienceMs = 2000;
const mostOutput = 8 * 1024 * 1024;
/** With more, all connections of the machine are fewer words than their list. */
const mostPorts = 64;

/** Bytes by inode; a connection that is not in there has no counter. `null`: not to be learnt on this machine. */
export type CountBytes = (ports: ReadonlySet<number>) => Promise<ReadonlyMap<string, number> | null>;

/**
 * The kernel gives the bytes of a connection to those who ask over netlink, which Node cannot. `ss` (iproute2) can: about 4 ms of one core each time. One that fails is
 * not asked again; one that takes too long throws.
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

/** A counter that is zero is left out; `cwnd` is there whenever the kernel said anything at all. */
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
