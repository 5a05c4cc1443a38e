import { dirname, join, resolve } from "node:path";
import { Fault } from "@rouse/contract";
import { readPlace } from "../audit/audit-trail.ts";
import type { AnchorReading } from "../audit/compare-anchors.ts";
import { nameAnchor, readAnchor } from "../config/read-anchor.ts";
import { type AnchorPlace, noAnchors, type OpenAnchor } from "../ports/anchors.ts";
import type { StoredTrail } from "../ports/store.ts";
import { askForTrail, type WholeTrail } from "./ask-audit.ts";
import { readText } from "./audit-file.ts";
import type { Surroundings } from "./surroundings.ts";

/** What reads a trail and its anchors without a Rouse that runs; only main.ts knows which they are. */
export interface AuditHands {
  readStoredTrail(folder: string): StoredTrail;
  /** `folder`: what paths of configured anchors are relative to. */
  anchors(folder: string): OpenAnchor;
}
export type OpenAuditHands = () => Promise<AuditHands>;

/** For a program that can only ask a Rouse that runs. */
export const noAuditHands: OpenAuditHands = async () => ({
  readStoredTrail() {
    throw new Fault("daemon-unreachable", "no Rouse is running; start it with `rouse up -d`");
  },
  anchors: () => noAnchors,
});

/** From the running Rouse; from the database in the data folder when there is none. */
export async function gatherTrail(here: Surroundings, openHands: OpenAuditHands): Promise<WholeTrail> {
  try {
    return await askForTrail(here);
  } catch (error) {
    const isAway = error instanceof Fault && error.code === "daemon-unreachable";
    if (!isAway || here.environment.ROUSE_URL) throw error;
    return readFolder(here, await openHands());
  }
}

async function readFolder(here: Surroundings, hands: AuditHands): Promise<WholeTrail> {
  const { lines, marks } = hands.readStoredTrail(here.home);
  return {
    lines,
    head: readPlace(marks.head),
    store: marks.store,
    removed: readPlace(marks.removed),
    told: null,
    publicKey: readText(join(here.home, "audit-key.pub.pem")),
    anchors: await configuredAnchors(here),
  };
}

async function configuredAnchors({ home, workingFolder, environment }: Surroundings): Promise<readonly string[]> {
  const [{ loadConfig }, { requireConfig }] = await Promise.all([
    import("../config/load-config.ts"),
    import("../config/read-config.ts"),
  ]);
  return requireConfig(await loadConfig({ home, workingFolder, environment })).settings.audit.anchor;
}

interface AnchorsToRead {
  /** As the configuration names them. */
  readonly configured: readonly string[];
  /** As the command line does: relative to the working folder. */
  readonly given: readonly string[];
}

/** One that cannot be read is an answer too: nobody should think it agreed. */
export async function readAnchors(
  here: Surroundings,
  { configured, given }: AnchorsToRead,
  openHands: OpenAuditHands,
): Promise<AnchorReading[]> {
  if (configured.length + given.length === 0) return [];
  const hands = await openHands();
  return Promise.all([
    ...configured.map((text) => readOne(text, here.home, here.home, hands)),
    ...given.map((text) => readOne(text, here.workingFolder, here.home, hands)),
  ]);
}

const oneWay = "it takes seals and gives none back; save what was received to a file and name that with --anchor";

async function readOne(text: string, folder: string, home: string, hands: AuditHands): Promise<AnchorReading> {
  const place = readAnchor(text);
  if ("problem" in place) throw new Fault("bad-request", `${text} ${place.problem}`);
  const about = { anchor: nameAnchor(text), isBeside: isBeside(place, folder, home) };
  try {
    const seals = (await hands.anchors(folder)(place)?.read()) ?? null;
    return { ...about, seals, problem: seals === null ? oneWay : null };
  } catch (error) {
    return { ...about, seals: null, problem: (error as Error).message };
  }
}

const isBeside = (place: AnchorPlace, folder: string, home: string): boolean =>
  place.kind === "file" && dirname(resolve(folder, place.path)) === home;
