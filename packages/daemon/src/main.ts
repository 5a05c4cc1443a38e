import { join } from "node:path";
import { runCli } from "./cli/run-cli.ts";

// What `rouse up` needs is loaded only for it: the other commands are asked for an answer, and should give it at once.
process.exitCode = await runCli(
  process.argv.slice(2),
  async (options) => {
    const [
      { runDaemon },
      { openSqliteStore },
      { alertsToLog },
      { openHolders },
      { openLog },
      { systemClock, systemTimers },
      { openFileStates },
      { openGitWorkspaces },
      { openWebhook },
      { openTaskFile },
    ] = await Promise.all([
      import("./run-daemon.ts"),
      import("./adapters/store-sqlite/open-sqlite-store.ts"),
      import("./adapters/alerts-log/alerts-log.ts"),
      import("./adapters/holders-unix/open-holders.ts"),
      import("./adapters/log-pino/open-log.ts"),
      import("./adapters/clock-system/system-clock.ts"),
      import("./adapters/states-files/open-file-states.ts"),
      import("./adapters/workspaces-git/open-git-workspaces.ts"),
      import("./adapters/orchestrator-webhook/open-webhook.ts"),
      import("./adapters/tasks-jsonl/open-task-file.ts"),
    ]);
    const log = openLog();
    await runDaemon(options, {
      openStore: (folder) => openSqliteStore({ folder }),
      alerts: alertsToLog,
      holders: openHolders,
      openStates: openFileStates,
      workspaces: openGitWorkspaces({ scratch: join(options.home, "scratch") }),
      orchestrator: (url, allowPrivate, secret) =>
        openWebhook({ url, allowPrivate, secret, clock: systemClock, timers: systemTimers, log }),
      taskSource: (file, folder) => openTaskFile({ file, folder, timers: systemTimers, log }),
      log,
      clock: systemClock,
      timers: systemTimers,
    });
  },
  async () => (await import("./adapters/workspaces-git/open-git-workspaces.ts")).openGitWorkspaces(),
);
