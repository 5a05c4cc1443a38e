import { accessSync, constants, rmdirSync } from "node:fs";
import { join } from "node:path";
import type { TreeTier } from "@rouse/contract";
import { makeGroup, moveTo } from "./cgroup.ts";
import { findOwnGroup, whereGroupsGo } from "./place-cgroup.ts";

export interface HostTier {
  readonly tier: TreeTier;
  readonly why: string;
  /** Where the groups of agents are made. */
  readonly place: string | null;
}

/** Tried, not guessed: makes a group, goes in and comes back, and takes it away again. */
export function tierOfHost(): HostTier {
  const marked = (why: string): HostTier => ({ tier: "marked", why, place: null });
  if (findOwnGroup() === null) return marked("control groups (cgroup v2) are not mounted");
  const place = whereGroupsGo();
  if (place === null) return marked("this user may not make control groups here");
  if (!canReturnTo(place.own)) return marked("this process could not come back to its own control group");
  const group = makeGroup("trial");
  if (group === null) return marked(`no process can be moved into a group in ${place.folder}`);
  moveTo(place.own);
  group.remove();
  removeIfEmpty(place.folder);
  return { tier: "cgroup", why: `groups can be made in ${place.folder}`, place: place.folder };
}

function canReturnTo(own: string): boolean {
  try {
    accessSync(join(own, "cgroup.procs"), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Agents are in it.
  }
}
