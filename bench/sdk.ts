import type { Line } from "./report.ts";
import { benchGuards } from "./sdk/guards.ts";
import { benchHeartbeat } from "./sdk/heartbeat.ts";
import { benchSizes } from "./sdk/sizes.ts";
import type { BenchOptions } from "./throughput.ts";

/** What the sdk costs an agent, beside libraries that do the same. */
export const benchSdk = async (options: BenchOptions): Promise<Line[]> => [
  ...(await benchGuards(options)),
  ...(await benchSizes()),
  ...(await benchHeartbeat(options)),
];
