import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import { identityOf, isSame, isSupported } from "@rouse/holder";
import { connectRouse, type Fetch, type RouseClient } from "@rouse/sdk";
import { type DaemonFile, starters } from "../home/open-home.ts";
import { fetchOverHttp } from "./fetch-over-http.ts";
import type { Surroundings } from "./surroundings.ts";

export interface DaemonAddress {
  readonly url: string;
  readonly token: string;
  /** Sends only while the daemon that was found runs: a command that follows events may outlive it. */
  readonly fetch: Fetch;
}

type Places = Pick<Surroundings, "environment" | "home">;

export async function connect(here: Places): Promise<RouseClient> {
  return connectRouse(await findDaemon(here));
}

/** ROUSE_URL and ROUSE_TOKEN win over what a running daemon left in its data folder. */
export async function findDaemon(here: Places): Promise<DaemonAddress> {
  const named = here.environment.ROUSE_URL;
  const url = named || (await findRunning(here.home))?.url;
  if (url === undefined) throw notRunning();
  refuseInTheClear(url);
  const token = here.environment.ROUSE_TOKEN || (await readToken(here.home));
  return { url, token, fetch: named ? fetchOverHttp : fetchWhileRunning(here.home, url) };
}

const notRunning = (): Fault =>
  new Fault("daemon-unreachable", "no Rouse is running; start it with `rouse up -d`", { retryable: true });

/** A daemon that was started again at the same address is as good. */
const fetchWhileRunning =
  (home: string, url: string): Fetch =>
  async (...request) => {
    if ((await findRunning(home))?.url !== url) throw notRunning();
    return fetchOverHttp(...request);
  };

/**
 * The daemon of this data folder, or `null` when none is running. A daemon that was killed leaves daemon.json, and
 * anybody may bind its port: the token goes only to the process that wrote the file.
 */
export async function findRunning(home: string): Promise<DaemonFile | null> {
  const left = await readDaemonFile(home);
  return left !== null && isRunning(left) ? left : null;
}

/** Earlier versions wrote down the pid only. */
export function isRunning({ pid, startTicks }: Pick<DaemonFile, "pid" | "startTicks">): boolean {
  if (!isSupported()) return isThere(pid);
  return startTicks === null ? identityOf(pid) !== null : isSame({ pid, startTicks });
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** What a daemon wrote to daemon.json; `null` when it ended and removed the file. Earlier versions wrote less. */
export async function readDaemonFile(home: string): Promise<DaemonFile | null> {
  const file = join(home, "daemon.json");
  const text = await readIfThere(file);
  if (text === null) return null;
  const parsed = parse(text) as Partial<DaemonFile> | null;
  const { pid, startTicks, url, startedAt, version, startedBy, log, asked, preset, sources } = parsed ?? {};
  if (typeof url !== "string" || !Number.isInteger(pid)) {
    const message = `${file} is not what a running Rouse writes; start it again with \`rouse up\``;
    throw new Fault("daemon-unreachable", message);
  }
  return {
    pid: Number(pid),
    startTicks: typeof startTicks === "number" ? startTicks : null,
    url,
    startedAt: String(startedAt),
    version: String(version),
    startedBy: starters.find((one) => one === startedBy) ?? "terminal",
    log: log ?? null,
    asked: { host: null, config: null, tlsCert: null, logMaxSize: null, logKeep: null, ...asked },
    preset: preset ?? null,
    sources: sources ?? [],
  };
}

async function readToken(home: string): Promise<string> {
  const file = join(home, "token");
  const token = (await readIfThere(file))?.trim();
  if (token) return token;
  throw new Fault("unauthorized", `there is no token in ${file}`);
}

/** The daemon itself refuses to listen beyond this machine without TLS; a client has no reason to be less careful. */
function refuseInTheClear(url: string): void {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: "", hostname: "" };
  if (protocol !== "http:" || /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname)) return;
  const message = "refusing to send the token over the network in the clear; use an https:// address or a tunnel";
  throw new Fault("tls-required", message);
}

async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new Fault("unauthorized", `${file} cannot be read (${code})`, { cause: error });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether anybody answers at this address. Nothing secret is sent, so any certificate will do. */
export function answersAt(url: string, patience = 2000): Promise<boolean> {
  const { request } = process.getBuiltinModule(url.startsWith("https:") ? "node:https" : "node:http");
  return new Promise((resolve) => {
    const asking = request(`${url}/livez`, { agent: false, timeout: patience, rejectUnauthorized: false });
    asking.on("response", (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asking.on("timeout", () => asking.destroy());
    asking.on("error", () => resolve(false));
    asking.on("close", () => resolve(false));
    asking.end();
  });
}
