import { randomBytes } from "node:crypto";
import { accessSync, constants, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Where groups for agents can be made. */
export interface Place {
  /** `…/rouse-agents`; not there before the first agent. */
  readonly folder: string;
  /** Our own group. */
  readonly own: string;
}

const below = "rouse-agents";

/**
 * Beside our own group, so that an agent is not in one that a service manager ends together with us; in the root if we are there; inside our
 * own where nothing else may be written.
 */
export function whereGroupsGo(): Place | null {
  const own = findOwnGroup();
  if (own === null) return null;
  const base = basesFor(own).find(isOpenToUs);
  return base === undefined ? null : { folder: join(base, below), own: join(own.mount, own.path) };
}

function basesFor({ mount, path }: OwnGroup): string[] {
  const nested = `${path}/`.indexOf(`/${below}/`);
  // Started by an agent, or by somebody who once held one: beside it, not deeper and deeper.
  const from = nested < 0 ? path : join(path.slice(0, nested) || "/", "self");
  return from === "/" ? [mount] : [join(mount, dirname(from)), ...(nested < 0 ? [join(mount, path)] : [])];
}

/** Moving a process needs the right to write here too, not only in the new group. */
function isOpenToUs(folder: string): boolean {
  try {
    for (const place of [folder, join(folder, "cgroup.procs")]) accessSync(place, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

interface OwnGroup {
  readonly mount: string;
  readonly path: string;
}

export function findOwnGroup(): OwnGroup | null {
  try {
    return locateOwnGroup(readFileSync("/proc/self/mountinfo", "utf8"), readFileSync("/proc/self/cgroup", "utf8"));
  } catch {
    return null;
  }
}

/**
 * Lines of mountinfo: `36 35 0:30 ROOT MOUNTPOINT options … - cgroup2 …`. A container may see only part of the hierarchy: paths then begin
 * with the root of the mount, and one with `..` lies outside of what is mounted.
 */
export function locateOwnGroup(mountinfo: string, cgroup: string): OwnGroup | null {
  const path = /^0::(\/.*)$/m.exec(cgroup)?.[1];
  if (path === undefined || path.split("/").includes("..")) return null;
  for (const line of mountinfo.split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    if (!after.startsWith("cgroup2 ")) continue;
    const [root = "/", mount = "/"] = before.split(" ").slice(3, 5).map(unescapeSpaces);
    if (root === "/") return { mount, path };
    if (path === root || path.startsWith(`${root}/`)) return { mount, path: path.slice(root.length) || "/" };
  }
  return null;
}

export const unescapeSpaces = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

export const nameGroup = (name: string): string =>
  `${name.replace(/[^A-Za-z0-9_-]/g, "-").slice(0, 60)}-${randomBytes(6).toString("hex")}`;
