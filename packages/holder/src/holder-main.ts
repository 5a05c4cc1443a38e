import { closeSync, readFileSync, writeSync } from "node:fs";
import { basename, dirname } from "node:path";
import { Fault } from "@rouse/contract";
import { hold } from "./hold.ts";
import { openHolderLog } from "./holder-log.ts";
import { identityOf } from "./processes/read-processes.ts";
import { holderFiles } from "./protocol/holder-files.ts";
import type { Spec } from "./protocol/spec.ts";
import type { FirstWord } from "./start-holder.ts";

const readyPipe = 3;

/** The process that holds one agent. Its only argument is the agent's folder. */
async function main(folder: string): Promise<void> {
  const home = dirname(dirname(folder));
  const log = openHolderLog(folder);
  // The agent would end with this process: a bug in what watches the agent is no reason to take its terminal away.
  process.on("uncaughtException", (error) => log("a bug", error));
  process.on("unhandledRejection", (error) => log("a bug", error));
  for (const name of ["SIGINT", "SIGHUP", "SIGPIPE"] as const) process.on(name, () => {});

  let waiting = true;
  const say = (word: FirstWord): void => {
    if (!waiting) return;
    waiting = false;
    try {
      writeSync(readyPipe, `${JSON.stringify(word)}\n`);
      closeSync(readyPipe);
    } catch {
      // The process that started us is gone; the agent runs all the same.
    }
  };
  try {
    const spec = JSON.parse(readFileSync(holderFiles(home, basename(folder)).spec, "utf8")) as Spec;
    await hold(spec, home, null, { from: identityOf(process.ppid), ready: (file) => say({ ready: file }) });
  } catch (error) {
    log("the agent could not be held", error);
    say(
      error instanceof Fault
        ? { code: error.code, message: error.message }
        : { code: "internal", message: (error as Error).message },
    );
    process.exitCode = 1;
  }
  process.exit();
}

await main(process.argv[2] ?? "");
