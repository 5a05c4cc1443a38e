import { createHash } from "node:crypto";

export const allRefs = "refs/rouse/";
/** A name of a file holds 255 bytes on most disks, and git adds to it. */
const longestPart = 150;

const digest = (text: string, length: number): string =>
  createHash("sha256").update(text).digest("hex").slice(0, length);

/** Where the snapshots of one agent are. Different agents, different folders: `%` is in no agent's name. */
export function refsOf(agentId: string): string {
  const safe = agentId
    .replace(/[^A-Za-z0-9._@+-]/g, (odd) => `%${Buffer.from(odd).toString("hex")}`)
    // Git wants no two dots in a row, none at the end, and no .lock.
    .replace(/\.(?=\.|$|lock$)/g, "%2e");
  return `${allRefs}${safe.length <= longestPart ? safe : `${safe.slice(0, 100)}%${digest(agentId, 24)}`}/`;
}

export const nameRef = (agentId: string, incarnation: number, key: string): string =>
  `${refsOf(agentId)}${incarnation}-${digest(`${agentId}\0${key}`, 16)}`;
