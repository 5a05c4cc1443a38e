import { join } from "node:path";
import { leaveWithoutReader } from "./cli/leave-without-reader.ts";
import { openAnchorsBy } from "./ports/anchors.ts";
import { version } from "./version.ts";

const words = process.argv.slice(2);
// Scripts ask for it before anything else, and need nothing else for it.
if (words[0] === "-V" || words[0] === "--version") {
  leaveWithoutReader(() => false);
  process.stdout.write(`${version}\n`);
} else process.exitCode = await run();

async function run(): Promise<number> {
  const { runCli } = await import("./cli/run-cli.ts");
  // What `rouse up` needs is loaded only for it, so that the other commands answer at once.
  return runCli(
    words,
    async (options) => {
      const [
        { runDaemon },
        { openSqliteStore },
        { alertsToLog },
        { openHolders },
        { openFileLog, openLog },
        { systemClock, systemTimers },
        { openFileStates },
        { openGitWorkspaces },
        { openWebhook },
        { openTaskFile },
        { openFileAnchor },
        { openGitAnchor },
        { openWebhookAnchor },
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
        import("./adapters/anchor-file/open-file-anchor.ts"),
        import("./adapters/workspaces-git/open-git-anchor.ts"),
        import("./adapters/orchestrator-webhook/open-webhook-anchor.ts"),
      ]);
      const log = options.logFile === undefined ? openLog() : openFileLog(options.logFile);
      await runDaemon(options, {
        openStore: (folder) => openSqliteStore({ folder }),
        alerts: alertsToLog,
        holders: openHolders,
        openStates: openFileStates,
        workspaces: openGitWorkspaces({ scratch: join(options.home, "scratch") }),
        orchestrator: (url, allowPrivate, secret) =>
          openWebhook({ url, allowPrivate, secret, clock: systemClock, timers: systemTimers, log }),
        anchors: (folder, secret) =>
          openAnchorsBy({
            file: (path) => openFileAnchor({ path, folder }),
            git: (repository, ref) => openGitAnchor({ repository, ref, folder }),
            webhook: (to) => openWebhookAnchor({ to, secret, clock: systemClock, timers: systemTimers }),
          }),
        taskSource: (file, folder) => openTaskFile({ file, folder, timers: systemTimers, log }),
        log,
        clock: systemClock,
        timers: systemTimers,
      });
    },
    async () => (await import("./adapters/workspaces-git/open-git-workspaces.ts")).openGitWorkspaces(),
    async () => {
      const [{ readStoredTrail }, { openFileAnchor }, { openGitAnchor }] = await Promise.all([
        import("./adapters/store-sqlite/read-stored-trail.ts"),
        import("./adapters/anchor-file/open-file-anchor.ts"),
        import("./adapters/workspaces-git/open-git-anchor.ts"),
      ]);
      return {
        readStoredTrail,
        anchors: (folder) =>
          openAnchorsBy({
            file: (path) => openFileAnchor({ path, folder }),
            git: (repository, ref) => openGitAnchor({ repository, ref, folder }),
            // It takes seals and gives none back.
            webhook: () => null,
          }),
      };
    },
  );
}
