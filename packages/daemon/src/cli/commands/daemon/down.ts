import { setTimeout as pause } from "node:timers/promises";
import { type DurationMs, describeDuration, Fault, seconds } from "@rouse/contract";
import { isSupported } from "@rouse/holder";
import { Option } from "commander";
import type { DaemonFile } from "../../../home/open-home.ts";
import { refuseInsideAgent } from "../../caller.ts";
import { exit } from "../../exit-codes.ts";
import { answersAt, findRunning, isRunning, readDaemonFile } from "../../find-daemon.ts";
import type { HeldAgents } from "../../find-held.ts";
import type { Surroundings } from "../../surroundings.ts";
import { sentence } from "../../text/phrases.ts";
import { type AddCommand, type Json, jsonOption, readDuration } from "../add-command.ts";

interface DownOptions extends Json {
  readonly timeout: DurationMs;
}

const afterword = `
Agents run on, and so does their work: nobody watches them until the next
\`rouse up\`, which takes them up again with everything they did meanwhile.
A Rouse that runs as a service is stopped through systemd, and comes back at
the next login or boot; \`rouse service uninstall\` ends that.`;

const lookEvery = 50;
const sayAfter = 2000;

const readTimeout = readDuration(
  "a duration such as 30s or 5m, from 1s to 1h",
  (duration) => duration >= seconds(1) && duration <= seconds(3600),
);

export const addDown: AddCommand = (program, here, finish) => {
  program
    .command("down")
    .description("stop watching; agents run on")
    .addOption(
      new Option("--timeout <duration>", "how long to wait until it is gone")
        .argParser(readTimeout)
        .default(seconds(30), "30s"),
    )
    .option(...jsonOption)
    .addHelpText("after", afterword)
    .action(async (options: DownOptions) => {
      refuseInsideAgent(here, "Rouse is stopped by its owner");
      const daemon = await findRunning(here.home);
      const { findHeldAgents, tellHeldAgents } = await import("../../find-held.ts");
      if (daemon === null) return tellNotRunning(here, options, await findHeldAgents(here.home));
      await refuseToGuess(daemon);
      const through = await stop(here, daemon);
      const gone = await awaitEnd(here, daemon, options.timeout);
      const held = await findHeldAgents(here.home);
      if (options.json) {
        here.printJson({ stopped: gone, wasRunning: true, pid: daemon.pid, url: daemon.url, through, ...held });
      } else if (gone) {
        const how = through === "systemd" ? " through systemd (rouse.service; it starts again at the next login)" : "";
        here.print([[`Rouse is stopped${how}: process ${daemon.pid}. ${sentence(tellHeldAgents(held))}`]]);
      }
      if (!gone) here.warn(describeStubborn(daemon, options.timeout));
      finish(gone ? exit.fine : exit.wrong);
    });
};

async function tellNotRunning(here: Surroundings, { json }: DownOptions, held: HeldAgents): Promise<void> {
  if (json) return here.printJson({ stopped: true, wasRunning: false, pid: null, url: null, through: null, ...held });
  const left = await readDaemonFile(here.home);
  const killed = left === null ? "" : ` Process ${left.pid}, the last one, is gone and did not say goodbye.`;
  here.print([[`No Rouse is running with the data folder ${here.home}.${killed}`]]);
}

/**
 * A process number alone may be somebody else's by now. Where the kernel does not tell when a process began, an answer
 * at the daemon's address has to do.
 */
async function refuseToGuess({ pid, startTicks, url }: DaemonFile): Promise<void> {
  if (startTicks !== null || (!isSupported() && (await answersAt(url)))) return;
  throw new Fault(
    "order-refused",
    `nothing shows for sure that process ${pid} is the Rouse that wrote daemon.json; look at it, and if it is, stop it with \`kill ${pid}\``,
  );
}

/**
 * A service is stopped through systemd, which would otherwise take its end for a failure. Where systemd cannot be
 * reached, SIGTERM ends the service just as well.
 */
async function stop(here: Surroundings, daemon: DaemonFile): Promise<"systemd" | "signal"> {
  if (daemon.startedBy === "service") {
    const { systemctl, unitName } = await import("../../systemd.ts");
    if (systemctl(["stop", unitName], here.environment).ok) return "systemd";
  }
  try {
    // This is looked at last: by now the number may be somebody else's.
    if (isRunning(daemon)) process.kill(daemon.pid, "SIGTERM");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH")
      throw new Fault("forbidden", `process ${daemon.pid} is not yours to stop (${code}); ask whoever started it`);
  }
  return "signal";
}

async function awaitEnd(here: Surroundings, daemon: DaemonFile, timeout: DurationMs): Promise<boolean> {
  const begun = performance.now();
  for (let sayAt = sayAfter; isRunning(daemon); ) {
    const waited = performance.now() - begun;
    if (waited >= timeout) return false;
    if (waited >= sayAt) {
      here.warn(`process ${daemon.pid} is stopping, for ${describeDuration(waited)} by now`);
      sayAt *= 2;
    }
    await pause(lookEvery);
  }
  return true;
}

const describeStubborn = ({ pid, log }: DaemonFile, timeout: DurationMs): string =>
  [
    `process ${pid} was told to stop, and is still there after ${describeDuration(timeout)}`,
    `${log ?? "Its log"} may say why. \`rouse down --timeout 5m\` waits longer; \`kill -9 ${pid}\` ends it at once: nothing that was acknowledged is lost`,
  ].join("\n");
