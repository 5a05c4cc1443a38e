import { readFileSync } from "node:fs";
import { unescapeSpaces } from "../processes/place-cgroup.ts";

/** File systems that answer from this machine. Others may hang for as long as a network is away, and whoever asks them hangs too. */
const local = new Set(
  "aufs bcachefs btrfs ecryptfs exfat ext2 ext3 ext4 f2fs hfsplus jfs msdos nilfs2 ntfs3 overlay ramfs reiserfs tmpfs vfat virtiofs xfs zfs".split(
    " ",
  ),
);

/** Whether a folder's file system answers at once, and which folders below it belong to another one. */
export function readMounts(
  folder: string,
  mounts: string = readFileSync("/proc/self/mountinfo", "utf8"),
): { readonly isLocal: boolean; readonly below: ReadonlySet<string> } {
  const below = new Set<string>();
  let holds = { point: "", type: "" };
  for (const line of mounts.split("\n")) {
    const [, , , , escaped = ""] = line.split(" ");
    const point = unescapeSpaces(escaped);
    const type = / - (\S+) /.exec(line)?.[1] ?? "";
    if (point !== folder && isWithin(point, folder)) below.add(point);
    // Of two at the same place the later one covers the other.
    if (point !== "" && isWithin(folder, point) && point.length >= holds.point.length) holds = { point, type };
  }
  return { isLocal: local.has(holds.type), below };
}

export const isWithin = (inner: string, outer: string): boolean =>
  inner === outer || inner.startsWith(outer === "/" ? "/" : `${outer}/`);
