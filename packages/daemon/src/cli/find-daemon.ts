import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import { connectRouse, type RouseClient } from "@rouse/sdk";
import type { DaemonFile } from "../home/open-home.ts";
import type { Surroundings } from "./surroundings.ts";

export interface DaemonAddress {
  readonly url: string;
  readonly token: string;
}

type Places = Pick<Surroundings, "environment" | "home">;

export async function connect(here: Places): Promise<RouseClient> {
  return connectRouse(await findDaemon(here));
}

/** ROUSE_URL and ROUSE_TOKEN win over what a running daemon left in its data folder. */
export async function findDaemon(here: Places): Promise<DaemonAddress> {
  const url = here.environment.ROUSE_URL || (await readDaemonFile(here.home))?.url;
  if (url === undefined) throw new Fault("daemon-unreachable", "no Rouse is running; start it with `rouse up`");
  refuseInTheClear(url);
  return { url, token: here.environment.ROUSE_TOKEN || (await readToken(here.home)) };
}

/** What the running daemon says of itself, or `null` when there is none. */
export async function readDaemonFile(home: string): Promise<DaemonFile | null> {
  const file = join(home, "daemon.json");
  const text = await readIfThere(file);
  if (text === null) return null;
  const parsed = parse(text) as Partial<DaemonFile> | null;
  const { pid, url, startedAt, version } = parsed ?? {};
  if (typeof url !== "string" || !Number.isInteger(pid)) {
    throw new Fault(
      "daemon-unreachable",
      `${file} is not what a running Rouse writes; start it again with \`rouse up\``,
    );
  }
  return { pid: Number(pid), url, startedAt: String(startedAt), version: String(version) };
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
  throw new Fault(
    "tls-required",
    "refusing to send the token over the network in the clear; use an https:// address or a tunnel",
  );
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
