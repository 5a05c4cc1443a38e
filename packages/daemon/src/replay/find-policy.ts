import { Fault, type Policy } from "@rouse/contract";
import { loadConfig } from "../config/load-config.ts";
import { nearestName } from "../config/nearest-name.ts";
import { type Config, requireConfig } from "../config/read-config.ts";
import type { ConfigPlaces } from "../config/shipped-config.ts";
import { sourceOf } from "./summarise-runs.ts";

interface ReplayPolicy {
  readonly name: string;
  policyOf(trace: string): Policy;
}

type Places = Omit<ConfigPlaces, "configFile">;

/**
 * The policy of a name (a preset, or one of the user's) or of a file like config.yaml; without either, the one `rouse
 * up` would use. A run's name is the agent's, its source the agent's type, so `agents:` and `agent_types:` count.
 */
export async function findPolicy(wanted: string | undefined, places: Places): Promise<ReplayPolicy> {
  if (wanted === undefined) return replayPolicy(requireConfig(await loadConfig(places)), null, null);
  if (looksLikeFile(wanted)) {
    return replayPolicy(requireConfig(await loadConfig({ ...places, configFile: wanted })), null, wanted);
  }
  const config = requireConfig(await loadConfig(places));
  const names = config.policyNames();
  if (names.includes(wanted)) return replayPolicy(config, wanted, wanted);
  const near = nearestName(wanted, names);
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  throw new Fault("bad-request", `no policy ${wanted}: expected ${names.join(", ")} or a .yaml file${hint}`);
}

const looksLikeFile = (name: string): boolean => /[/\\]|\.ya?ml$/i.test(name);

function replayPolicy(config: Config, policy: string | null, name: string | null): ReplayPolicy {
  const subject = (trace: string) => ({ agentId: trace, agentType: sourceOf(trace), taskId: null, policy });
  const nobody = { agentId: "", agentType: null, taskId: null, policy };
  return {
    name: name ?? config.policyFor(nobody).id,
    policyOf: (trace) => config.policyFor(subject(trace)),
  };
}
