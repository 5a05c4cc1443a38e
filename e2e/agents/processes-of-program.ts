import { readFileSync } from "node:fs";
import { processesOf } from "../end-agents.ts";
import type { Watched } from "./watch-program.ts";

/** The program's own processes, detached ones too; neither Rouse, whose words name it, nor what it runs. */
export const processesOfProgram = ({ daemon, cell }: Watched): number[] =>
  processesOf(daemon.home).filter((pid) => {
    const command = commandOf(pid);
    return command.includes(`/clis/${cell.program}/`) && !/\/(?:rouse|holder)\.js /.test(command);
  });

/** The words a process was started with; empty when it is gone. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}
