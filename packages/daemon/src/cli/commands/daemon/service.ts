import { mkdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { Fault } from "@rouse/contract";
import { writeWhole } from "@rouse/holder";
import type { Command } from "commander";
import type { DaemonFile } from "../../../home/open-home.ts";
import { refuseInsideAgent } from "../../caller.ts";
import { choosePort, defaultPort } from "../../choose-port.ts";
import { exit } from "../../exit-codes.ts";
import { findRunning } from "../../find-daemon.ts";
import type { Surroundings } from "../../surroundings.ts";
import { hasUserSystemd, lingers, systemctl, unitMark, unitName, writeUnit } from "../../systemd.ts";
import { drawFacts, type Fact } from "../../text/draw-table.ts";
import { wrapLine } from "../../text/styled-text.ts";
import { type AddCommand, type Json, jsonOption, tell } from "../add-command.ts";
import { addListenOptions, refuseHalfTls } from "./up.ts";
import { awaitDaemon, type ListenWishes, wordsOf } from "./up-detached.ts";

const help = `
The service is a unit of your own systemd, ~/.config/systemd/user/rouse.service:
it starts Rouse at login and again when it fails. Stopping it, or an upgrade of
it, leaves agents alone. Its log is \`journalctl --user -u rouse\`.`;

export const addService: AddCommand = (program, here, finish) => {
  const service = program
    .command("service")
    .description("have Rouse started at login, by systemd")
    .addHelpText("after", help);
  for (const add of [addInstall, addUninstall, addServiceStatus]) add(service, here, finish);
};

interface InstallOptions extends ListenWishes, Json {
  readonly print?: true;
  readonly force?: true;
}

const addInstall: AddCommand = (service, here, finish) => {
  addListenOptions(service.command("install"))
    .description("write the unit, enable it and start it")
    .option("--print", "print the unit and do nothing")
    .option("--force", "replace a unit that Rouse did not write")
    .option(...jsonOption)
    .action(async (options: InstallOptions, command: Command) => {
      refuseHalfTls(options, command);
      const plan = planService(here, options);
      const unit = writeUnit(plan);
      if (options.print) return here.printText(unit);
      refuseInsideAgent(here, "a service is installed by its owner");
      refuseForeign(here, options);
      await refuseBesideAnother(here);
      const file = unitFile(here);
      mkdirSync(dirname(file), { recursive: true });
      writeWhole(file, unit);
      if (plan.program.includes("/_npx/")) here.warn(npxAdvice);
      finish(await startService(here, file, options));
    });
};

const npxAdvice =
  "the service runs a rouse that npx fetched, which npm may clear away; `npm install -g rouse` and install the service again";

async function startService(here: Surroundings, file: string, options: Json): Promise<number> {
  const { environment } = here;
  if (!hasUserSystemd(environment)) {
    const document = { file, started: false, because: "no-user-systemd", daemon: null };
    tell(here, options, document, () => tellToType(file, here.width));
    return exit.fine;
  }
  for (const words of [["daemon-reload"], ["enable", "--now", unitName]]) {
    const { ok, said } = systemctl(words, environment);
    if (!ok)
      throw new Fault("internal", `${file} is written, but \`systemctl --user ${words.join(" ")}\` failed: ${said}`);
  }
  const daemon = await awaitDaemon(here.home, () => systemctl(["is-failed", unitName], environment).ok);
  if (daemon === null) {
    here.warn(
      `${file} is written and enabled, but Rouse does not answer: \`journalctl --user -u rouse -n 20\` says why`,
    );
    return exit.noDaemon;
  }
  tell(here, options, { file, started: true, daemon }, () => tellInstalled(file, daemon, here.width));
  return exit.fine;
}

const tellToType = (file: string, width: number) => [
  ...wrapLine(
    [`${file} is written. No systemd of this user can be reached from here; where there is one, type:`],
    width,
    0,
  ),
  ["  systemctl --user daemon-reload"],
  [`  systemctl --user enable --now ${unitName}`],
  ...wrapLine([lingerAdvice], width, 0),
];

const lingerAdvice = "`loginctl enable-linger` has it run without a login as well, from the boot on.";

function tellInstalled(file: string, { url, pid }: DaemonFile, width: number) {
  const facts: Fact[] = [
    ["process", [`${pid}, started by systemd now and at every login`]],
    ["unit", [file]],
    ["log", ["journalctl --user -u rouse"]],
    ["stop", ["`rouse down`; for good: `rouse service uninstall`"]],
  ];
  return [
    [`Rouse is a service, and is watching on ${url}`],
    ...drawFacts(facts, width, 2),
    ...(lingers() ? [] : wrapLine([lingerAdvice], width, 0)),
  ];
}

const addUninstall: AddCommand = (service, here) => {
  service
    .command("uninstall")
    .description("stop the service and remove its unit; agents run on")
    .option("--force", "also one that Rouse did not write")
    .action((options: { force?: true }) => {
      refuseInsideAgent(here, "a service is removed by its owner");
      const file = unitFile(here);
      if (readUnit(file) === null) return here.print([[`There is no ${file}.`]]);
      refuseForeign(here, options);
      const reachable = hasUserSystemd(here.environment);
      const stopped = reachable ? systemctl(["disable", "--now", unitName], here.environment) : null;
      if (stopped?.ok === false)
        throw new Fault("internal", `systemd refused, and nothing was removed: ${stopped.said}`);
      rmSync(file);
      if (reachable) systemctl(["daemon-reload"], here.environment);
      const end = reachable ? "The service is stopped and removed" : "The unit is removed; no systemd could be told";
      here.print(wrapLine([`${end}. Agents run on; \`rouse up -d\` watches them without a service.`], here.width, 0));
    });
};

const addServiceStatus: AddCommand = (service, here, finish) => {
  service
    .command("status")
    .description("is it installed, enabled, running?")
    .option(...jsonOption)
    .addHelpText("after", "\nIt ends with 0 when the service runs, otherwise with 3.")
    .action((options: Json) => {
      const reachable = hasUserSystemd(here.environment);
      const state = stateOf(here, reachable);
      tell(here, options, state, () => drawFacts(tellState(state, reachable), here.width));
      finish(state.active === "active" ? exit.fine : exit.noDaemon);
    });
};

function stateOf(here: Surroundings, reachable: boolean) {
  const file = unitFile(here);
  const text = readUnit(file);
  const ours = text?.startsWith(unitMark) ?? false;
  const ask = (word: string): string => (reachable ? systemctl([word, unitName], here.environment).said : "unknown");
  const [enabled, active] = [ask("is-enabled"), ask("is-active")];
  return { file, installed: text !== null, ours, enabled, active, lingers: lingers() };
}

function tellState(state: ReturnType<typeof stateOf>, reachable: boolean): (Fact | null)[] {
  const { file, installed, ours, enabled, active, lingers } = state;
  if (!installed) return [["unit", ["not installed; `rouse service install` does it"]]];
  return [
    ["unit", [ours ? file : `${file}, not written by Rouse`]],
    reachable ? ["at login", [enabled]] : null,
    reachable ? ["now", [active]] : ["systemd", ["cannot be reached from here"]],
    ["without login", [lingers ? "yes (lingers)" : "no; `loginctl enable-linger` changes that"]],
    ["log", ["journalctl --user -u rouse"]],
  ];
}

const unitFile = ({ environment }: Surroundings): string =>
  join(environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), ".config"), "systemd", "user", unitName);

function readUnit(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Fault("data-folder-unusable", `${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function refuseForeign(here: Surroundings, { force }: { readonly force?: true }): void {
  const file = unitFile(here);
  const text = readUnit(file);
  if (force || text === null || text.startsWith(unitMark)) return;
  throw new Fault("name-taken", `${file} was not written by Rouse, and is left as it is; --force goes ahead anyway`);
}

/** Two daemons cannot share a data folder, so the service would not come up. */
async function refuseBesideAnother({ home }: Surroundings): Promise<void> {
  const running = await findRunning(home);
  if (running === null || running.startedBy === "service") return;
  throw new Fault(
    "daemon-running",
    `a Rouse is running with the data folder ${home}: process ${running.pid} on ${running.url}. \`rouse down\` first; agents run on`,
  );
}

/** The unit has whole paths: a service begins in another folder, and with another environment. */
function planService(here: Surroundings, options: ListenWishes) {
  const { environment, workingFolder } = here;
  const whole = (file?: string): string | undefined => (file === undefined ? file : resolve(workingFolder, file));
  const port = choosePort(options.port, environment);
  return {
    node: process.execPath,
    program: realpathSync(process.argv[1] ?? ""),
    home: environment.ROUSE_HOME ? here.home : null,
    words: wordsOf({
      ...(port === defaultPort ? {} : { port }),
      ...options,
      config: whole(options.config),
      tlsCert: whole(options.tlsCert),
      tlsKey: whole(options.tlsKey),
    }),
  };
}
