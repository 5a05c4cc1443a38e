import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type AuditRecord, Fault, type FaultCode, faultCodes, type Problem } from "@rouse/contract";
import { z } from "zod";
import { readPlace } from "../audit/audit-trail.ts";
import type { AuditEnds } from "../audit/check-seals.ts";
import type { AnchorReading } from "../audit/compare-anchors.ts";
import { nameAnchor, readAnchor } from "../config/read-anchor.ts";
import { noAnchors, type OpenAnchor } from "../ports/anchors.ts";
import type { StoredTrail } from "../ports/store.ts";
import { type DaemonAddress, findDaemon } from "./find-daemon.ts";
import { type Surroundings, writeJson } from "./surroundings.ts";

/** Reads a trail and its anchors without a running Rouse; only main.ts knows by what. */
interface AuditHands {
  readStoredTrail(folder: string): StoredTrail;
  /** `folder`: what paths of configured anchors are relative to. */
  anchors(folder: string): OpenAnchor;
}
export type OpenAuditHands = () => Promise<AuditHands>;

/** For a program that can only ask a running Rouse. */
export const noAuditHands: OpenAuditHands = async () => ({
  readStoredTrail() {
    throw new Fault("daemon-unreachable", "no Rouse is running; start it with `rouse up -d`");
  },
  anchors: () => noAnchors,
});

/** Gets the trail from the running Rouse, or, when none is running, from the database in the data folder. */
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

async function configuredAnchors(here: Surroundings): Promise<readonly string[]> {
  const [{ loadConfig }, { requireConfig }] = await Promise.all([
    import("../config/load-config.ts"),
    import("../config/read-config.ts"),
  ]);
  return requireConfig(await loadConfig(here)).settings.audit.anchor;
}

/**
 * Reads the anchors of the configuration, and those named on the command line, relative to the working folder. An
 * anchor that cannot be read is reported as such: nobody should think that it agreed.
 */
export async function readAnchors(
  { home, workingFolder }: Surroundings,
  configured: readonly string[],
  named: readonly string[],
  openHands: OpenAuditHands,
): Promise<AnchorReading[]> {
  if (configured.length + named.length === 0) return [];
  const hands = await openHands();
  return Promise.all([
    ...configured.map((text) => readOne(text, home, home, hands)),
    ...named.map((text) => readOne(text, workingFolder, home, hands)),
  ]);
}

const oneWay = "it takes seals and gives none back; save what was received to a file and name that with --anchor";

async function readOne(text: string, folder: string, home: string, hands: AuditHands): Promise<AnchorReading> {
  const place = readAnchor(text);
  if ("problem" in place) throw new Fault("bad-request", `${text} ${place.problem}`);
  const isBeside = place.kind === "file" && dirname(resolve(folder, place.path)) === home;
  const about = { anchor: nameAnchor(text), isBeside };
  try {
    const seals = (await hands.anchors(folder)(place)?.read()) ?? null;
    return { ...about, seals, problem: seals === null ? oneWay : null };
  } catch (error) {
    return { ...about, seals: null, problem: (error as Error).message };
  }
}

interface AuditPage {
  /** Only lines after this one, oldest first; without it the newest. */
  readonly after?: number;
  readonly agentId?: string;
  readonly limit?: number;
}

/** A whole audit trail: every line, its ends, and what it is checked by. */
interface WholeTrail extends AuditEnds {
  readonly lines: readonly unknown[];
  /** PEM. */
  readonly publicKey: string;
  /** Where its seals are kept as well, as configured; none are known of an export. */
  readonly anchors: readonly string[];
}

type Head = Omit<WholeTrail, "lines">;

const patience = 10_000;
export const linesPerPage = 1000;

export async function askForLines(here: Surroundings, page: AuditPage): Promise<AuditRecord[]> {
  return readPage(await findDaemon(here), page);
}

/**
 * Reads the first page before the ends of the trail, and the other pages after. What retention removes meanwhile is
 * then named in the trail, and every line up to its head can still be read.
 */
export async function askForTrail(here: Surroundings): Promise<WholeTrail> {
  const daemon = await findDaemon(here);
  const lines = await readPage(daemon, { after: 0, limit: linesPerPage });
  const head = await get<Head>(daemon, "/api/v1/audit/head");
  for (let isMore = lines.length === linesPerPage; isMore; ) {
    const page = await readPage(daemon, { after: lines.at(-1)?.number ?? 0, limit: linesPerPage });
    for (const line of page) lines.push(line);
    isMore = page.length === linesPerPage;
  }
  return { lines, ...head };
}

async function readPage(daemon: DaemonAddress, page: AuditPage): Promise<AuditRecord[]> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(page)) search.set(name, String(value));
  return (await get<{ entries: AuditRecord[] }>(daemon, `/api/v1/audit?${search}`)).entries;
}

async function get<T>({ url, token, fetch }: DaemonAddress, path: string): Promise<T> {
  const response = await fetch(new URL(path, url).href, {
    headers: { authorization: `Bearer ${token}`, accept: "application/json" },
    redirect: "manual",
    signal: AbortSignal.timeout(patience),
  }).catch((error: unknown) => {
    throw new Fault("daemon-unreachable", `no Rouse answers at ${url}`, { retryable: true, cause: error });
  });
  const body: unknown = await response.json().catch(() => null);
  if (response.ok && body !== null) return body as T;
  throw faultOf(url, body);
}

function faultOf(url: string, body: unknown): Fault {
  const { code, detail, retryable } = (body ?? {}) as Partial<Problem>;
  if (!faultCodes.includes(code as FaultCode) || typeof detail !== "string")
    return new Fault("daemon-unreachable", `what answers at ${url} is not a Rouse that has an audit trail`);
  return new Fault(code as FaultCode, detail, { retryable: retryable === true });
}

const what = "audit trail of Rouse";

const Place = z.object({ number: z.number().int(), hash: z.string() }).nullable();

/** The first line of an export. What it says of the end of the trail is signed. */
const Head = z.object({
  what: z.literal(what),
  format: z.literal(2),
  publicKey: z.string(),
  store: z.string().nullable(),
  head: Place,
  told: z.object({ time: z.string(), signature: z.string() }).nullable(),
});

/** The first line as it was before trails were sealed. */
const OldHead = z.object({
  what: z.literal(what),
  format: z.literal(1),
  publicKey: z.string(),
  head: Place,
  anchor: Place,
});

/** Writes a line that says what follows and how to check it, then one line per line of the trail. */
export function printTrail({ lines, publicKey, store, head, told }: WholeTrail): string {
  const first: z.infer<typeof Head> = { what, format: 2, publicKey, store, head, told };
  return [first, ...lines].map((line) => `${writeJson(line, 0)}\n`).join("");
}

export function readTrail(file: string): WholeTrail {
  const [first = "", ...rest] = readText(file).split("\n");
  const lines = rest.filter((line) => line !== "").map(parse);
  const head = Head.safeParse(parse(first)).data;
  if (head !== undefined) return { ...head, lines, removed: null, anchors: [] };
  const old = OldHead.safeParse(parse(first)).data;
  if (old !== undefined) return { ...old, lines, store: null, removed: old.anchor, told: null, anchors: [] };
  throw new Fault("bad-request", `${file} is not what \`rouse audit export\` writes`);
}

export function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Fault("bad-request", `${file} cannot be read (${code})`, { cause: error });
  }
}

/** Text that is no JSON becomes `null`, which the check of the trail reports as a broken line. */
function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
