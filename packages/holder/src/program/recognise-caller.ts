import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { endianness } from "node:os";
import { join } from "node:path";
import { attempt } from "../attempt.ts";
import { identityOf, isSame } from "../processes/read-processes.ts";
import type { ProcessId } from "../protocol/spec.ts";

/** A connection from 127.0.0.1 to 127.0.0.1, by its ports. */
export interface Connection {
  readonly from: number;
  readonly to: number;
}

/** Which process made a connection: the program, another one, or one that cannot be found out. */
export type Caller = "program" | "somebody-else" | "unknown";

/**
 * Tells a program from its tools, which have its environment and can read its files: a connection belongs to the
 * process that has it open. The first caller is the program from then on, because no tool runs before that. Once it is
 * gone, another of `candidates` may take its place.
 */
export function recogniseCaller(
  candidates: () => readonly number[],
  proc = "/proc",
): (connection: Connection) => Caller {
  let known: ProcessId | null = null;

  return (connection) => {
    const socket = socketOf(connection, proc);
    if (socket === "unknown") return "unknown";
    if (socket === null) return "somebody-else";
    if (known !== null && isSame(known)) return callerOf([known.pid], socket).caller;
    const { caller, pid } = callerOf(candidates(), socket);
    if (pid !== null) known = identityOf(pid);
    return caller;
  };

  function callerOf(pids: readonly number[], socket: string): { caller: Caller; pid: number | null } {
    let caller: Caller = "somebody-else";
    for (const pid of pids) {
      const has = hasOpen(pid, socket, proc);
      if (has === "yes") return { caller: "program", pid };
      if (has === "unknown") caller = "unknown";
    }
    return { caller, pid: null };
  }
}

/** The kernel's name of the caller's end; `null` when that is closed already, which is no reason to trust it. */
function socketOf({ from, to }: Connection, proc: string): string | "unknown" | null {
  let isRead = false;
  for (const table of ["tcp", "tcp6"]) {
    const rows = attempt(() => readFileSync(join(proc, "net", table), "utf8"));
    if (rows === null) continue;
    isRead = true;
    // number: local-address:port remote-address:port state … uid timeout inode
    const ends = `${loopback}:${hex(from)} ${loopback}:${hex(to)}`;
    const row = new RegExp(`^ *\\d+: ${ends} (?:\\S+ +){6}(\\d+)`, "m").exec(rows);
    if (row !== null) return row[1] === "0" ? null : `socket:[${row[1]}]`;
  }
  return isRead ? null : "unknown";
}

/**
 * 127.0.0.1, or the same inside IPv6, in the machine's byte order. The address is compared because a caller from
 * another local address may use the same port.
 */
const loopback = endianness() === "LE" ? "(?:0{16}FFFF0000)?0100007F" : "(?:0{20}FFFF)?7F000001";

const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0");

function hasOpen(pid: number, socket: string, proc: string): "yes" | "no" | "unknown" {
  const folder = join(proc, String(pid), "fd");
  try {
    // A descriptor may be closed meanwhile.
    return readdirSync(folder).some((file) => attempt(() => readlinkSync(join(folder, file))) === socket)
      ? "yes"
      : "no";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "no" : "unknown";
  }
}
