import { readFileSync, readlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { processesOf } from "../end-agents.ts";
import type { Watched } from "./watch-program.ts";

/** The program's own processes, detached ones too; neither Rouse, whose words name it, nor what it runs. */
export function processesOfProgram({ daemon, cell }: Watched): number[] {
  // Codex copies itself into its settings and runs its server from there.
  const settings = join(dirname(daemon.home), "settings");
  return processesOf(daemon.home).filter((pid) => {
    const { file, words } = commandOf(pid);
    if (file.startsWith(settings)) return true;
    return words.includes(`/clis/${cell.program}/`) && !/\/(?:rouse|holder)\.js /.test(words);
  });
}

/** What a process was started from and with; empty when it is gone. */
function commandOf(pid: number): { file: string; words: string } {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    return { file: readlinkSync(`/proc/${pid}/exe`), words };
  } catch {
    return { file: "", words: "" };
  }
}
