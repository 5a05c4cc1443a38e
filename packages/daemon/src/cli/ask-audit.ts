import { type AuditRecord, Fault, type FaultCode, faultCodes, type Problem } from "@rouse/contract";
import type { AuditEnds } from "../audit/check-seals.ts";
import { type DaemonAddress, findDaemon } from "./find-daemon.ts";
import type { Surroundings } from "./surroundings.ts";

export interface AuditPage {
  /** Only lines after this one, oldest first; without it the newest. */
  readonly after?: number;
  readonly agentId?: string;
  readonly limit?: number;
}

/** A whole audit trail: every line there is, and what else is known of it. */
export interface WholeTrail extends AuditEnds {
  readonly lines: readonly unknown[];
  /** PEM. */
  readonly publicKey: string;
  /** Where its seals are kept besides, as configured; none are known of an export. */
  readonly anchors: readonly string[];
}

type Head = Omit<WholeTrail, "lines">;

const patience = 10_000;
export const linesPerPage = 1000;

export async function askForLines(here: Surroundings, page: AuditPage): Promise<AuditRecord[]> {
  return readPage(await findDaemon(here), page);
}

/**
 * The first page is read before the ends are asked for, and the others after: what retention removes meanwhile the trail itself says, and every line
 * up to the head is there to be read.
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
