import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../attempt.ts";
import { writeWhole } from "../write-whole.ts";
import type { MonitorId } from "./admit-monitors.ts";

/**
 * Where a holder keeps what it knows, one folder per agent below `$ROUSE_HOME/holders`, for its owner only:
 *
 *     spec.json       what runs there: command, folder, environment, agent, task, incarnation. Enough to start it again
 *     holder.json     who holds it now: pid and start time of holder and agent, socket, control group. Claims the name
 *     exit.json       how it ended; room for it is taken at the start, so that it can be written on a full disk
 *     orders.jsonl    orders already carried out, and nudges begun, by key
 *     recovery.json   where its present life goes on, and recovery-state.json the state it goes on with
 *     output, marks   the last output and when it came (see output-ring.ts)
 *     secret          what a peer has to show when it connects, new for each life
 *     plugin/         the hooks that a program is given for this life
 *     socket          unless its path would be too long for a socket; holder.json says where it is
 *
 * Beside them, `store.json` says which monitor came last: id of its database and epoch. A folder `.removed-AGENT` is
 * being deleted. A file `.last-life-AGENT` has the number of the last life of an agent that was removed: the token of
 * that life must not speak for the next agent of its name.
 */
export const holdersFolder = (home: string): string => join(home, "holders");

export const lastLifeFile = (home: string, agentId: string): string =>
  join(holdersFolder(home), `.last-life-${agentId}`);

export const storeFile = (home: string): string => join(holdersFolder(home), "store.json");

export function holderFiles(home: string, agentId: string) {
  const folder = join(holdersFolder(home), agentId);
  return {
    home,
    folder,
    spec: join(folder, "spec.json"),
    holder: join(folder, "holder.json"),
    exit: join(folder, "exit.json"),
    secret: join(folder, "secret"),
    orders: join(folder, "orders.jsonl"),
    plugin: join(folder, "plugin"),
    recovery: join(folder, "recovery.json"),
    recoveryState: join(folder, "recovery-state.json"),
    output: join(folder, "output"),
    marks: join(folder, "marks"),
  };
}

export type HolderFiles = ReturnType<typeof holderFiles>;

/** The monitor that came last; `null` when none ever did, or its file is not (yet) whole. */
export function readStore(home: string): MonitorId | null {
  const { store, epoch }: Partial<MonitorId> = attempt(() => JSON.parse(readFileSync(storeFile(home), "utf8"))) ?? {};
  return typeof store === "string" && Number.isSafeInteger(epoch) ? { store, epoch: Number(epoch) } : null;
}

/**
 * The secret that a peer must show when it connects to a holder: new for each life, in a file that only its owner can
 * read. It replaces asking the system who the peer is, because Node cannot read SO_PEERCRED.
 */
export function makeSecret(file: string): string {
  const secret = randomBytes(32).toString("hex");
  writeWhole(file, secret);
  return secret;
}

/** `""` when it cannot be read: the holder then refuses the connection and says why. */
export const readSecret = (file: string): string => attempt(() => readFileSync(file, "utf8")) ?? "";

/** Compares in constant time. */
export const isSecret = (given: string, secret: string): boolean => timingSafeEqual(digest(given), digest(secret));

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
