import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { resolve } from "node:path";
import { canaryId, Fault } from "@rouse/contract";
import { identityOf, isSupported } from "@rouse/holder";
import { type Listening, type ListenOptions, listen, refuseInTheClear } from "./api/listen.ts";
import { describeProblem } from "./config/config-problem.ts";
import { loadConfig } from "./config/load-config.ts";
import { type Config, requireConfig } from "./config/read-config.ts";
import type { ConfigPlaces } from "./config/shipped-config.ts";
import { callOf } from "./home/home-folder.ts";
import { keepStderr } from "./home/keep-stderr.ts";
import { type DaemonFile, openHome, type Starter } from "./home/open-home.ts";
import { openWebhookSecret } from "./home/secret-files.ts";
import { openSigningKey } from "./home/signing-key.ts";
import { type Monitor, startMonitor } from "./monitor.ts";
import type { Alerts } from "./ports/alerts.ts";
import type { OpenAnchor } from "./ports/anchors.ts";
import type { Clock, Timers } from "./ports/clock.ts";
import type { HolderHome, Holders } from "./ports/holders.ts";
import type { Log } from "./ports/log.ts";
import type { Orchestrator } from "./ports/orchestrator.ts";
import type { States } from "./ports/states.ts";
import type { Store } from "./ports/store.ts";
import type { TaskSource } from "./ports/task-source.ts";
import type { Workspaces } from "./ports/workspaces.ts";
import { version } from "./version.ts";

export interface DaemonOptions {
  readonly port: number;
  readonly host: string;
  readonly home: string;
  readonly configFile?: string | undefined;
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly startedBy: Starter;
  /** Where its log goes; to stderr when not set. */
  readonly logFile?: LogFile | undefined;
}

interface LogFile {
  readonly path: string;
  readonly maxBytes: number;
  readonly keep: number;
}

/** The adapters of the daemon; only main.ts names them. */
interface Adapters {
  openStore(folder: string): Promise<Store>;
  alerts(log: Log): Alerts;
  holders(home: HolderHome, log: Log): Holders;
  openStates(folder: string): Promise<States>;
  readonly workspaces: Workspaces;
  /** `url`: the webhook that the configuration names now. */
  orchestrator(url: () => string | null, allowPrivate: () => boolean, secret: string): Orchestrator;
  /** `folder`: the data folder; `secret`: what webhooks are signed with. */
  anchors(folder: string, secret: string): OpenAnchor;
  /** `file`: the task file that the configuration names now. */
  taskSource(file: () => string | undefined, folder: string): TaskSource;
  readonly log: Log;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** `rouse up`: runs until it is told to stop. Everything is checked before the first heartbeat is taken. */
export async function runDaemon(options: DaemonOptions, adapters: Adapters): Promise<void> {
  const tls = readTls(options);
  refuseInTheClear({ host: options.host, tls });
  const places: ConfigPlaces = {
    configFile: options.configFile,
    home: options.home,
    workingFolder: process.cwd(),
    environment: process.env,
  };
  const home = openHome(options.home);
  const config = requireConfig(await loadConfig(places));
  const { log } = adapters;
  const store = await adapters.openStore(home.folder);
  const { secret, signing, states } = await openKeys(home.folder, store, adapters);
  let server: Listening | undefined;
  let running: Monitor | undefined;
  const settings = () => (running?.config() ?? config).settings;
  const taskSource = adapters.taskSource(() => settings().tasks.file, home.folder);
  const webhookUrl = (): string | null => settings().escalation.webhook_url ?? null;
  const allowPrivate = (): boolean => settings().escalation.allow_private_webhook;
  const monitor = await startMonitor({
    store,
    states,
    workspaces: adapters.workspaces,
    orchestrator: adapters.orchestrator(webhookUrl, allowPrivate, secret),
    signing,
    anchors: adapters.anchors(home.folder, secret),
    alerts: adapters.alerts(log),
    holders: adapters.holders({ folder: home.folder, token: home.token, url: () => server?.url ?? null }, log),
    clock: adapters.clock,
    timers: adapters.timers,
    log,
    config,
    version,
  }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  running = monitor;
  const address = { host: options.host, port: options.port };
  try {
    server = await listen(monitor, { ...address, token: home.token, home: home.folder, secret, version, tls }, log);
    home.announce(introduce(options, server.url, config));
  } catch (error) {
    await server?.close();
    await monitor.stop();
    throw error;
  }
  const { url } = server;
  monitor.sendCanaryBy(() => sendCanary(url, home.token));
  taskSource.begin(monitor.help.desk);
  const say = sayTo(options, log);
  say.watching(url, home.folder, config.preset);
  const self = introduce(options, url, config);
  await untilStopped(async () => {
    const { preset, sources } = await reload(monitor, places, log);
    try {
      home.announce({ ...self, preset, sources });
    } catch (error) {
      log.warn({ error: (error as Error).message }, "daemon.json still tells of the configuration before");
    }
  });
  say.stopping();
  await taskSource.close();
  await server.close();
  await monitor.stop();
  home.withdraw();
}

/** Opens what lies beside the store. The store is locked by now, so no other daemon makes the same keys. */
async function openKeys(folder: string, store: Store, adapters: Adapters) {
  try {
    keepStderr(folder, adapters.log);
    const secret = openWebhookSecret(folder);
    return { secret, signing: openSigningKey(folder), states: await adapters.openStates(folder) };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function readTls(options: DaemonOptions): ListenOptions["tls"] {
  if (options.tlsCert === undefined && options.tlsKey === undefined) return undefined;
  if (options.tlsCert === undefined || options.tlsKey === undefined)
    throw new Fault("tls-required", "--tls-cert and --tls-key go together");
  try {
    const cert = readFileSync(options.tlsCert);
    const key = readFileSync(options.tlsKey);
    const names = (new X509Certificate(cert).subjectAltName ?? "")
      .split(",")
      .flatMap((entry) => /^\s*(?:DNS|IP Address):(.+)$/.exec(entry)?.[1] ?? []);
    return { cert, key, names };
  } catch (error) {
    throw new Fault("tls-required", `the TLS certificate or key cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** What the CLI can know of this daemon without asking it. */
function introduce(options: DaemonOptions, url: string, { preset, sources }: Config): DaemonFile {
  const { host, startedBy, configFile, tlsCert, logFile } = options;
  const whole = (file: string | undefined): string | null => (file === undefined ? null : resolve(file));
  return {
    pid: process.pid,
    startTicks: isSupported() ? (identityOf(process.pid)?.startTicks ?? null) : null,
    url,
    startedAt: new Date().toISOString(),
    version,
    startedBy,
    log: logFile?.path ?? null,
    asked: {
      host,
      config: whole(configFile),
      tlsCert: whole(tlsCert),
      logMaxSize: logFile?.maxBytes ?? null,
      logKeep: logFile?.keep ?? null,
    },
    preset,
    sources,
  };
}

/** In a terminal a person reads what comes next; elsewhere it is a line of the log. */
function sayTo({ startedBy }: DaemonOptions, log: Log) {
  if (startedBy === "terminal") return { watching: greet, stopping: () => void process.stdout.write("stopping…\n") };
  return {
    watching: (url: string, folder: string, preset: string) => log.info({ url, folder, preset, version }, "watching"),
    stopping: () => log.info({}, "stopping"),
  };
}

function greet(url: string, folder: string, preset: string): void {
  const rouse = callOf(process.env, folder);
  process.stdout.write(
    [
      `Rouse ${version} is watching on ${url} (preset ${preset}, data in ${folder})`,
      "",
      "Next, in another terminal, run an agent under its eyes, and look at it from a third:",
      "",
      `  ${rouse} run -- COMMAND`,
      `  ${rouse} ps`,
      "",
      "An agent anywhere else sends heartbeats:",
      "",
      // The token goes through a pipe: arguments can be read by everybody on the machine.
      `  printf 'Authorization: Bearer %s' "$(cat ${folder}/token)" | curl -s -H @- ${url}/api/v1/heartbeats \\`,
      `    -H 'Content-Type: application/json' -d '{"agentId":"worker-1","status":"RUNNING"}'`,
      "",
      "Ctrl-C stops it; nothing that was acknowledged is lost, and agents run on.",
      "",
    ].join("\n"),
  );
}

/** Sends the canary through the path that agents use: socket, guard, parser, commit. */
function sendCanary(url: string, token: string): Promise<void> {
  const secure = url.startsWith("https:");
  const body = JSON.stringify({ agentId: canaryId });
  return new Promise((resolve, reject) => {
    const request = (secure ? requestSecure : requestPlain)(
      `${url}/api/v1/heartbeats`,
      {
        method: "POST",
        timeout: 5000,
        // This is our own certificate; the names on it are for other machines.
        ...(secure ? { rejectUnauthorized: false } : {}),
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "content-length": body.length,
        },
      },
      (response) => {
        response.resume();
        response.on("end", () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`status ${response.statusCode}`)),
        );
      },
    );
    request.on("timeout", () => request.destroy(new Error("no answer within 5 s")));
    request.on("error", reject);
    request.end(body);
  });
}

/** Says which configuration is in force afterwards. */
async function reload(monitor: Monitor, places: ConfigPlaces, log: Log): Promise<Config> {
  const reading = await loadConfig(places);
  if (reading.ok) {
    monitor.reload(reading.config);
    log.info({ sources: reading.config.sources }, "the configuration was read again");
    return reading.config;
  }
  const problems = reading.problems.map(describeProblem);
  monitor.noteRefusedConfig(problems);
  log.error({ problems }, "the new configuration has mistakes; the old one stays in force");
  return monitor.config();
}

/** Resolves on the first SIGINT or SIGTERM; further ones while stopping are the same request repeated. */
function untilStopped(onReload: () => Promise<void>): Promise<void> {
  process.on("SIGHUP", () => void onReload());
  return new Promise((resolve) => {
    process.on("SIGINT", resolve);
    process.on("SIGTERM", resolve);
  });
}
