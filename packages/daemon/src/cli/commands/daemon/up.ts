import { Fault } from "@rouse/contract";
import { type Command, InvalidArgumentError, Option } from "commander";
import { logFileIn, starters } from "../../../home/open-home.ts";
import type { DaemonOptions } from "../../../run-daemon.ts";
import { choosePort, defaultPort } from "../../choose-port.ts";
import { findRunning } from "../../find-daemon.ts";
import type { Surroundings } from "../../surroundings.ts";
import { type AddCommand, readWhole } from "../add-command.ts";
import type { ListenWishes, UpOptions } from "./up-detached.ts";

/** Runs the daemon until it is told to stop. */
export type Up = (options: DaemonOptions) => Promise<void>;

const defaultHost = "127.0.0.1";
const megabyte = 1_000_000;
const defaultLogSize = 10 * megabyte;
const defaultLogKeep = 5;

const portHelp = `on which port to listen; 0 for any (default: $ROUSE_PORT or ${defaultPort})`;

const afterword = `
Data, token and config.yaml are kept in $ROUSE_HOME (~/.rouse). Beyond this
machine it listens only with TLS. SIGHUP reads the configuration again; a bad
one is refused and the old one stays in force.

With -d it goes on when this terminal is closed, and logs to
$ROUSE_HOME/rouse.log. \`rouse status\` shows it, \`rouse down\` stops it. To have
it after a reboot as well: \`rouse service install\`.`;

export const addUp =
  (up: Up): AddCommand =>
  (program, here, finish) => {
    addListenOptions(
      program.command("up").description("start watching, in the foreground or with -d in the background"),
    )
      .option("-d, --detach", "in the background; comes back when it is live")
      .option("--log-max-size <size>", "with -d: begin a new log at this size (default: 10MB)", readSize)
      .option("--log-keep <n>", "with -d: how many older logs to keep (default: 5)", readWhole(1, 100))
      .option("--json", "with -d: print one JSON document")
      .addOption(
        new Option("--started-by <whom>")
          .choices([...starters])
          .default("terminal")
          .hideHelp(),
      )
      .addHelpText("after", afterword)
      .action(async (options: UpOptions, command: Command) => {
        refuseHalfTls(options, command);
        if (options.detach) {
          const { upDetached } = await import("./up-detached.ts");
          return finish(await upDetached(here, options));
        }
        refuseWithoutDetach(options, command);
        await upHere(here, up, options, finish);
      });
  };

/** Adds the options about listening, which `up` and the service share. */
export const addListenOptions = (command: Command): Command =>
  command
    .option("--port <n>", portHelp, readWhole(0, 65_535))
    .option("--host <address>", `on which address (default: ${defaultHost})`)
    .option("--config <file>", "instead of config.yaml in $ROUSE_HOME")
    .option("--tls-cert <file>", "certificate, PEM")
    .option("--tls-key <file>", "its key, PEM");

export function refuseHalfTls({ tlsCert, tlsKey }: ListenWishes, command: Command): void {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) command.error("error: --tls-cert and --tls-key go together");
}

function refuseWithoutDetach({ json, logMaxSize, logKeep, startedBy }: UpOptions, command: Command): void {
  if (startedBy === "detached") return;
  if (json) command.error("error: --json goes with --detach");
  if (logMaxSize !== undefined || logKeep !== undefined)
    command.error("error: --log-max-size and --log-keep go with --detach; in the foreground it logs to stderr");
}

async function upHere(here: Surroundings, up: Up, options: UpOptions, finish: (code: number) => void): Promise<void> {
  const { host = defaultHost, config, tlsCert, tlsKey, startedBy } = options;
  const { logMaxSize: maxBytes = defaultLogSize, logKeep: keep = defaultLogKeep } = options;
  const port = choosePort(options.port, here.environment);
  const logFile = startedBy === "detached" ? { path: logFileIn(here.home), maxBytes, keep } : undefined;
  try {
    await up({ port, host, tlsCert, tlsKey, configFile: config, home: here.home, startedBy, logFile });
  } catch (error) {
    if (!(error instanceof Fault && error.code === "daemon-running")) throw error;
    const told = await nameTheOther(here.home, error);
    if (startedBy !== "detached") throw told;
    const { anotherHasTheFolder } = await import("./up-detached.ts");
    here.warn(told.message);
    finish(anotherHasTheFolder);
  }
}

/** Names the other daemon: the lock shows only that the folder is taken, daemon.json by whom. */
async function nameTheOther(home: string, fault: Fault): Promise<Fault> {
  const other = await findRunning(home).catch(() => null);
  if (other === null) return fault;
  return new Fault(
    "daemon-running",
    `another Rouse is running with the data folder ${home}: process ${other.pid} on ${other.url}. Stop it first with \`rouse down\`, or give this one a folder of its own with ROUSE_HOME.`,
    { cause: fault },
  );
}

const smallestLog = 1000;

/** "10MB", "500kB", "1 GB": powers of ten, as disks are sold. */
function readSize(text: string): number {
  const [, amount = "", unit = ""] = /^(\d{1,9})\s*([kMG]?)B?$/i.exec(text) ?? [];
  const power = { "": 1, k: 1000, m: megabyte, g: 1000 * megabyte }[unit.toLowerCase()] ?? Number.NaN;
  const size = amount === "" ? Number.NaN : Number(amount) * power;
  if (size >= smallestLog && size <= Number.MAX_SAFE_INTEGER) return size;
  throw new InvalidArgumentError("Expected a size such as 10MB or 500kB, 1kB or more.");
}
