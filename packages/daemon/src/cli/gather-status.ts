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
 * `ready`: it can save what it hears. `no-answer`: its process is there, and does not answer. `unreachable`: nobody answers where ROUSE_URL says.
 * `refused`: somebody is there, and the token here is not for that.
 */
export type Life = "ready" | "not-ready" | "refused" | "no-answer" | "not-running" | "unreachable";

export interface StatusReport {
  readonly life: Life;
  readonly home: string;
  /** What it said when it started; of one that was killed, too. `null` for one at another place, and for none. */
  readonly daemon: DaemonFile | null;
  readonly url: string | null;
  /** What it answered. */
  readonly answer: SystemStatus | null;
  /** Agents of this data folder that run, whether anybody watches or not. */
  readonly held: readonly string[];
  /** Those whose own process is over, and which left others that run. */
  readonly left: readonly string[];
  readonly lastWords: string;
  readonly problems: readonly Problem[];
}

const patience = 5000;

/** Everything that can be known of the Rouse of this data folder, or of the one that ROUSE_URL names, without changing anything. */
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

/** The folder, the disk and what a reload would read. A warning about settings without effect is left to `rouse doctor`. */
async function checkPlace(here: Surroundings): Promise<Problem[]> {
  const [home, config] = await Promise.all([checkHome(here.home), checkConfig(here)]);
  return [...home.filter(({ verdict }) => verdict !== "ok"), ...config.filter(({ verdict }) => verdict === "fail")].map(
    ({ name, text, advice = "" }) => ({ what: `${name}: ${text}`, advice }),
  );
}
