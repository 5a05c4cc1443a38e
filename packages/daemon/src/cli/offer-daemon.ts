import { Fault } from "@rouse/contract";
import { findRunning } from "./find-daemon.ts";
import type { Surroundings } from "./surroundings.ts";

/** What `--daemon` and `--no-daemon` say; `undefined`: neither was given. */
export interface DaemonWish {
  readonly daemon?: boolean;
  /** Somebody reads the output with a program. */
  readonly json?: true;
}

type Offered =
  /** A daemon runs by now. */
  | { readonly kind: "started" }
  | { readonly kind: "none" }
  /** The daemon did not start, and the command ends with this code before an agent was started. */
  | { readonly kind: "over"; readonly code: number };

export const nobodyWatches = "no Rouse is running, so nobody watches yet; `rouse up -d` picks this agent up";

/** Arguments for `option`. `--daemon` has to be added first: then neither is the default. */
export const daemonOption = ["--daemon", "start a Rouse if none is running, without asking"] as const;
export const noDaemonOption = ["--no-daemon", "start none, and do not ask"] as const;

/**
 * Starts a Rouse as `rouse up -d` does, if that is wanted, because nobody would watch the agent otherwise. Only a
 * person who sees the question and can answer it is asked, never an agent that starts another.
 */
export async function offerDaemon(here: Surroundings, wish: DaemonWish): Promise<Offered> {
  const { ROUSE_URL: named, ROUSE_AGENT_ID: inside } = here.environment;
  if (wish.daemon && named && inside === undefined)
    throw new Fault("bad-request", `--daemon: ROUSE_URL names the Rouse at ${named}, which is started where it runs`);
  const wanted = wish.daemon ?? (canBeAsked(wish) && !named && inside === undefined);
  // A daemon that would refuse our token counts as running, too.
  if (!wanted || (await findRunning(here.home)) !== null) return { kind: "none" };
  if (wish.daemon === undefined && !(await askPerson())) return { kind: "none" };
  const { startForOwner, tellFailure } = await import("./commands/daemon/up-detached.ts");
  const outcome = await startForOwner(here);
  if (outcome.kind === "failed") return { kind: "over", code: tellFailure(here, outcome) };
  const { pid, url } = outcome.daemon;
  here.warn(`Rouse is watching on ${url} now (process ${pid}); \`rouse down\` stops it`);
  return { kind: "started" };
}

/** Only with a terminal on all three can somebody see the question and answer it. */
const canBeAsked = ({ json }: DaemonWish): boolean =>
  [process.stdin, process.stdout, process.stderr].every(({ isTTY }) => isTTY) && json === undefined;

/** Asks on stderr. The terminal's mode is not changed, so Ctrl-C ends the command. The end of input is a no. */
async function askPerson(): Promise<boolean> {
  const { createInterface } = await import("node:readline");
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    ask();
    for await (const line of lines) {
      const answer = line.trim().toLowerCase();
      if (["", "y", "yes"].includes(answer)) return true;
      if (["n", "no"].includes(answer)) return false;
      ask();
    }
    return false;
  } finally {
    lines.close();
  }
}

const ask = (): void => void process.stderr.write("No Rouse is running. Start one in the background? [Y/n] ");
