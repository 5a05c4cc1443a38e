import type { Surroundings } from "../surroundings.ts";
import type { Check } from "./check.ts";
import { checkPort, seeDaemon } from "./check-daemon.ts";
import { checkConfig, checkHome } from "./check-home.ts";
import { checkClocks, checkMemory, checkNode, readClocks } from "./check-machine.ts";
import { checkHolders, checkSupervision } from "./check-supervision.ts";

/** Everything that could keep Rouse from working here, looked at without changing anything. */
export async function examine(here: Surroundings): Promise<Check[]> {
  const [home, config, daemon] = await Promise.all([checkHome(here.home), checkConfig(here), seeDaemon(here)]);
  return [
    checkNode(process.versions.node),
    checkMemory(),
    checkClocks(readClocks(), daemon.left?.startedAt ?? null),
    ...(await checkSupervision()),
    ...(await checkHolders(here.home)),
    ...home,
    ...config,
    daemon.check,
    await checkPort(daemon, here.environment),
  ];
}
