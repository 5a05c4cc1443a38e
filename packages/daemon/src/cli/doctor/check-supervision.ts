import { isSupported } from "../../holder/processes/read-processes.ts";
import { type HostTier, tierOfHost } from "../../holder/processes/tier-of-host.ts";
import { type Check, fail, ok, warn } from "./check.ts";

/** Whether agents can be started and stopped here with `rouse run` and `rouse spawn`, and how surely. */
export async function checkSupervision(): Promise<Check[]> {
  if (!isSupported()) return [unsupported(process.platform)];
  return [judgeTier(tierOfHost()), await checkTerminals(() => import("@lydell/node-pty"))];
}

export const unsupported = (platform: string): Check =>
  warn(
    "process trees",
    `\`rouse run\` and \`rouse spawn\` do not work on ${platform} yet`,
    "they need Linux; agents that send heartbeats are watched here all the same",
  );

export function judgeTier({ tier, why, place }: HostTier): Check {
  const name = "process trees";
  switch (tier) {
    case "cgroup":
      return ok(name, `cgroup tier: no process of an agent outlives its stop (groups in ${place})`);
    case "marked":
      return warn(
        name,
        `marked tier: an agent's process that hides on purpose can outlive its stop (${why})`,
        "for the cgroup tier, start Rouse as root or with `systemd-run --user --scope -p Delegate=yes rouse …`",
      );
  }
}

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
