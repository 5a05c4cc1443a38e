import type { Line } from "./report.ts";
import { benchAdoption } from "./terminals/adoption.ts";
import { benchExits } from "./terminals/exits.ts";
import { benchHolders } from "./terminals/holders.ts";
import { benchOutput } from "./terminals/output.ts";
import { benchTyping } from "./terminals/typing.ts";
import type { BenchOptions } from "./throughput.ts";

/** What it costs an agent, and the person in front of it, that it is held. */
export async function benchTerminals(options: BenchOptions): Promise<Line[]> {
  const lines: Line[] = [];
  for (const bench of [benchOutput, benchTyping, benchHolders, benchExits, benchAdoption])
    lines.push(...(await bench(options)));
  return lines;
}
