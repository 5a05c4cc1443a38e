import { resolve } from "node:path";
import { callOf } from "../../../home/home-folder.ts";
import type { AskedOfDaemon, DaemonFile, Starter } from "../../../home/open-home.ts";
import { choosePort, readPortVariable } from "../../choose-port.ts";
import { exit } from "../../exit-codes.ts";
import { type StartOutcome, startDetached } from "../../start-detached.ts";
import type { Surroundings } from "../../surroundings.ts";
import { drawFacts } from "../../text/draw-facts.ts";
import { wrapLine } from "../../text/fit-text.ts";
import { type Line, styled } from "../../text/styled-text.ts";
import { refuseInsideAgent } from "../agents/order-agent.ts";

/** What `rouse up` is told of the daemon to start; `undefined` where the person said nothing. */
export interface ListenWishes {
  readonly port?: number;
  readonly host?: string;
  readonly config?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

export interface UpOptions extends ListenWishes {
  readonly detach?: true;
  readonly logMaxSize?: number;
  readonly logKeep?: number;
  readonly json?: true;
  readonly startedBy: Starter;
}

/** `rouse up -d`: says where it listens and what to type next. */
export async function upDetached(here: Surroundings, options: UpOptions): Promise<number> {
  const outcome = await startForOwner(here, options);
  if (outcome.kind === "failed") return tellFailure(here, outcome);
  const { daemon } = outcome;
  const differs = outcome.kind === "started" ? [] : findDifferences(here, options, daemon);
  if (options.json) {
    const { startTicks: _, ...shown } = daemon;
    here.printJson({ started: outcome.kind === "started", ...shown, home: here.home, differs });
  } else here.print(outcome.kind === "started" ? tellStarted(here, daemon) : tellAlreadyThere(here, daemon));
  for (const difference of differs) here.warn(difference);
  return exit.fine;
}

/** Starts one as `rouse up -d` does. One that an agent started would end with that agent. */
export function startForOwner(here: Surroundings, options: Omit<UpOptions, "startedBy"> = {}): Promise<StartOutcome> {
  refuseInsideAgent(here, "a Rouse that an agent starts would end with that agent: start it outside of agents");
  const port = choosePort(options.port, here.environment);
  return startDetached(here, wordsOf({ ...options, port }));
}

type Words = { readonly [Name in keyof Omit<UpOptions, "startedBy">]: UpOptions[Name] | undefined };

export function wordsOf(options: Words): string[] {
  const given: readonly (readonly [string, string | number | undefined])[] = [
    ["--port", options.port],
    ["--host", options.host],
    ["--config", options.config],
    ["--tls-cert", options.tlsCert],
    ["--tls-key", options.tlsKey],
    ["--log-max-size", options.logMaxSize],
    ["--log-keep", options.logKeep],
  ];
  return given.flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]));
}

/** In its own words, and with its own exit code. */
export function tellFailure(here: Surroundings, { said, code }: Extract<StartOutcome, { kind: "failed" }>): number {
  const words = said.trim().replace(/^rouse: /, "");
  here.warn(words === "" ? "it ended before it answered, and said nothing" : words.replace(/\n {7}/g, "\n"));
  return code;
}

function tellStarted(here: Surroundings, { pid, url, version, log }: DaemonFile): Line[] {
  const facts = [
    ["process", [`${pid}, in the background`]],
    ["data", [here.home]],
    ...(log === null ? [] : [["log", [log]] as const]),
    ["next", [styled("bold", `${callOf(here.environment, here.home)} run -- COMMAND`)]],
  ] as const;
  const afterwards =
    "That runs an agent under its eyes. `rouse status` says how Rouse is, `rouse down` stops it; agents run on.";
  return [
    [styled("bold", `Rouse ${version} is watching on ${url}`)],
    ...drawFacts(facts, here.width, 2),
    ...wrapLine([afterwards], here.width, 0),
  ];
}

const tellAlreadyThere = (here: Surroundings, { pid, url, version }: DaemonFile): Line[] => [
  [`Rouse ${version} is already running: process ${pid}, watching on ${url} (data in ${here.home})`],
];

type LogWishes = Pick<UpOptions, "logMaxSize" | "logKeep">;

function findLogDifferences({ logMaxSize, logKeep }: LogWishes, log: string | null, asked: AskedOfDaemon): string[] {
  const isSized = logMaxSize !== undefined && asked.logMaxSize !== null && logMaxSize !== asked.logMaxSize;
  const isKept = logKeep !== undefined && asked.logKeep !== null && logKeep !== asked.logKeep;
  if (log === null) return logMaxSize === undefined && logKeep === undefined ? [] : ["no log of its own"];
  return [
    ...(isSized ? [`a log of up to ${inKilobytes(asked.logMaxSize)}, not ${inKilobytes(logMaxSize)}`] : []),
    ...(isKept ? [`${asked.logKeep} older logs kept, not ${logKeep}`] : []),
  ];
}

const inKilobytes = (bytes: number | null): string => `${(bytes ?? 0) / 1000} kB`;

/** What was asked for and is not so. Only what the person named: everything else is as it is. */
function findDifferences(
  here: Surroundings,
  wishes: LogWishes & ListenWishes,
  { url, log, asked }: DaemonFile,
): string[] {
  const port = wishes.port ?? readPortVariable(here.environment);
  const running = Number(new URL(url).port);
  const whole = (file: string): string => resolve(here.workingFolder, file);
  const differences = [
    port !== null && port !== 0 && port !== running ? `port ${running}, not ${port}` : null,
    wishes.host !== undefined && asked.host !== null && wishes.host !== asked.host
      ? `address ${asked.host}, not ${wishes.host}`
      : null,
    wishes.config !== undefined && whole(wishes.config) !== asked.config
      ? `configuration ${asked.config ?? "config.yaml of the data folder"}, not ${whole(wishes.config)}`
      : null,
    wishes.tlsCert !== undefined && whole(wishes.tlsCert) !== asked.tlsCert
      ? `certificate ${asked.tlsCert ?? "none"}, not ${whole(wishes.tlsCert)}`
      : null,
    ...findLogDifferences(wishes, log, asked),
  ];
  return differences.flatMap((one) =>
    one === null ? [] : [`it runs with ${one}; \`rouse down\` and start it again to change that`],
  );
}
