import { Fault, type FaultCode, type SystemStatus } from "@rouse/contract";
import { connectRouse } from "@rouse/sdk";
import { readLastWords } from "../home/keep-stderr.ts";
import type { DaemonFile } from "../home/open-home.ts";
import { version } from "../version.ts";
import { troubles } from "./doctor/check-daemon.ts";
import { checkConfig, checkHome } from "./doctor/check-home.ts";
import { findDaemon, isRunning, readDaemonFile } from "./find-daemon.ts";
import { findHeldAgents } from "./find-held.ts";
import type { Surroundings } from "./surroundings.ts";

export interface Problem {
  readonly what: string;
  readonly advice: string;
}

/**
 * `ready`: Rouse can save what it hears. `no-answer`: its process runs, but does not answer. `unreachable`: nobody
 * answers at ROUSE_URL. `refused`: Rouse answers, but not to the token we have.
 */
export type Life = "ready" | "not-ready" | "refused" | "no-answer" | "not-running" | "unreachable";

export interface StatusReport {
  readonly life: Life;
  readonly home: string;
  /** What the daemon wrote down when it started, also if it was killed; `null` with ROUSE_URL, or without one. */
  readonly daemon: DaemonFile | null;
  readonly url: string | null;
  /** The daemon's own report. */
  readonly answer: SystemStatus | null;
  /** Agents of this data folder that run, whether a daemon watches them or not. */
  readonly held: readonly string[];
  /** Agents whose own process is over, while others that they started still run. */
  readonly left: readonly string[];
  readonly lastWords: string;
  readonly problems: readonly Problem[];
}

const patience = 5000;

/** Gathers what is known of the Rouse of this data folder, or of the one that ROUSE_URL names. Changes nothing. */
export async function gatherStatus(here: Surroundings): Promise<StatusReport> {
  const elsewhere = here.environment.ROUSE_URL || null;
  const [written, asked, home] = await Promise.all([
    elsewhere === null ? readDaemonFile(here.home) : null,
    ask(here),
    elsewhere === null ? checkPlace(here) : [],
  ]);
  const runs = written !== null && isRunning(written);
  const life = lifeOf(asked, elsewhere === null ? (runs ? "no-answer" : "not-running") : "unreachable");
  const lastWords = life === "not-running" ? readLastWords(here.home) : "";
  const { agents, left } = elsewhere === null ? await findHeldAgents(here.home) : { agents: [], left: [] };
  return {
    life,
    home: here.home,
    daemon: written,
    url: elsewhere ?? (runs ? written.url : null),
    answer: asked instanceof Fault ? null : asked,
    held: agents,
    left,
    lastWords,
    problems: [...problemsOfDaemon(asked, life), ...home],
  };
}

async function ask(here: Surroundings): Promise<SystemStatus | Fault> {
  try {
    return await connectRouse({ ...(await findDaemon(here)), timeout: patience }).status();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function lifeOf(asked: SystemStatus | Fault, unheard: Life): Life {
  if (!(asked instanceof Fault)) return asked.status === "store-unavailable" ? "not-ready" : "ready";
  const refusals: readonly FaultCode[] = ["unauthorized", "forbidden", "too-many-attempts", "host-refused"];
  return unheard !== "not-running" && refusals.includes(asked.code) ? "refused" : unheard;
}

const advices: Readonly<Partial<Record<Life, string>>> = {
  "no-answer": "`rouse down` and `rouse up -d` start it again; its log may say why",
  refused: "ROUSE_TOKEN is not the owner's; without it the token in ROUSE_HOME counts",
  unreachable: "is ROUSE_URL right?",
};

function problemsOfDaemon(asked: SystemStatus | Fault, life: Life): Problem[] {
  if (life === "not-running") return [];
  if (asked instanceof Fault) return [{ what: asked.message, advice: advices[life] ?? "" }];
  const problems: Problem[] = [];
  const trouble = troubles[asked.status];
  if (trouble !== undefined) problems.push({ what: `it ${trouble[0]}`, advice: trouble[1] });
  if (asked.version !== version) {
    const what = `version ${asked.version} is running, this command is ${version}`;
    problems.push({ what, advice: "`rouse down` and `rouse up -d` start the one you have now; agents run on" });
  }
  return problems;
}

/**
 * Problems of the data folder, the disk and the configuration. `rouse doctor` also warns of settings without effect.
 */
async function checkPlace(here: Surroundings): Promise<Problem[]> {
  const [home, config] = await Promise.all([checkHome(here.home), checkConfig(here)]);
  return [...home.filter(({ verdict }) => verdict !== "ok"), ...config.filter(({ verdict }) => verdict === "fail")].map(
    ({ name, text, advice = "" }) => ({ what: `${name}: ${text}`, advice }),
  );
}
