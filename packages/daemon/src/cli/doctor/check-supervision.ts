import { Fault, type HolderLoss } from "@rouse/contract";
import { type HolderFile, type HostTier, isSupported, readStore, tierOfHost, whyRefused } from "@rouse/holder";
import { connectHolder, RefusedByHolder } from "../../holders/connect-holder.ts";
import { doorOf, isHolderAlive, listHeld, readHolderFile } from "../../holders/read-holder-files.ts";
import { type Check, fail, ok, warn } from "./check.ts";

/** Whether agents can be started and stopped here with `rouse run` and `rouse spawn`, and how surely. */
export async function checkSupervision(): Promise<Check[]> {
  if (!isSupported()) return [unsupported(process.platform)];
  return [judgeTier(tierOfHost()), await checkTerminals(() => import("@lydell/node-pty"))];
}

export function unsupported(platform: string): Check {
  const advice = "they need Linux; agents that send heartbeats are watched here all the same";
  return warn("process trees", `\`rouse run\` and \`rouse spawn\` do not work on ${platform} yet`, advice);
}

export function judgeTier({ tier, why, place }: HostTier): Check {
  const name = "process trees";
  switch (tier) {
    case "cgroup":
      // Agents run as whoever starts them, who may make these groups and therefore leave them.
      return ok(
        name,
        `cgroup tier: an agent's processes end with its control group, unless one left it on purpose, as those of ${isRoot() ? "root" : "your user"} can (groups in ${place})`,
      );
    case "marked":
      return warn(
        name,
        `marked tier: an agent's process that hides on purpose can outlive its stop (${why})`,
        "for the cgroup tier, start Rouse as root or with `systemd-run --user --scope -p Delegate=yes rouse …`",
      );
  }
}

const isRoot = (): boolean => process.getuid?.() === 0;

export async function checkTerminals(load: () => Promise<unknown>): Promise<Check> {
  const name = "terminals";
  try {
    await load();
    return ok(name, "agents can be given one");
  } catch (error) {
    const [reason] = String((error as Error).message).split("\n");
    return fail(name, `the terminal library cannot be loaded: ${reason}`, "install Rouse again for this machine");
  }
}

/** Checks whether running agents would obey the newest monitor: one check per problem, with all its agents. */
export async function checkHolders(home: string): Promise<Check[]> {
  const files = listHeld(home).flatMap((agentId) => readHolderFile(home, agentId) ?? []);
  const held = files.filter((file) => file.agent !== null && isHolderAlive(file));
  const wrong = new Map<HolderLoss, string[]>();
  await Promise.all(
    held.map(async (file) => {
      const because = await whyLost(home, file);
      if (because !== null) wrong.set(because, [...(wrong.get(because) ?? []), file.agentId]);
    }),
  );
  if (wrong.size === 0) return [ok("held agents", held.length === 0 ? "none" : `${held.length}, all reachable`)];
  return [...wrong].map(([because, agents]) => judgeLoss(because, agents.sort()));
}

async function whyLost(home: string, file: HolderFile): Promise<HolderLoss | null> {
  try {
    const line = await connectHolder(doorOf(home, file), { timeoutMs: 5000 });
    const ours = readStore(home);
    const { store = null, epoch = null } = await line.probe().finally(line.close);
    return ours === null ? null : whyRefused({ store, epoch }, ours);
  } catch (error) {
    if (error instanceof RefusedByHolder) return error.because;
    if (error instanceof Fault) return error.code === "holder-gone" ? "gone" : "silent";
    throw error;
  }
}

function judgeLoss(because: HolderLoss, agents: readonly string[]): Check {
  const [text, advice] = inWords[because];
  const names = agents.join(" ");
  return fail("held agents", `${agents.join(", ")}: ${text}`, advice.replace("AGENT", names));
}

const inWords: Record<HolderLoss, readonly [text: string, advice: string]> = {
  "other-store": [
    "started for another database, so this Rouse may neither see nor stop it",
    "`rouse adopt AGENT` takes it over",
  ],
  "old-epoch": [
    "obeys a newer monitor than this one (was an older database restored?)",
    "`rouse adopt AGENT` takes it over",
  ],
  "epoch-too-high": ["does not believe the epoch of this monitor", "`rouse adopt AGENT` takes it over"],
  "wrong-secret": [
    "its holder does not know the secret in its file, so nobody can speak to it",
    "somebody changed the files: end its process by hand (`rouse ps` shows it) and start it again",
  ],
  gone: ["its holder lives, but nobody listens on its socket", "`rouse recover AGENT` starts it again"],
  silent: [
    "its holder does not answer",
    "look at the holder's process: `kill -CONT` if it is stopped, end it if it hangs; then `rouse recover AGENT`",
  ],
};
