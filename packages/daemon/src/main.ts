import { runCli } from "./cli/run-cli.ts";

// What `rouse up` needs is loaded only for it: the other commands are asked for an answer, and should give it at once.
process.exitCode = await runCli(process.argv.slice(2), async (options) => {
  const [
    { runDaemon },
    { openSqliteStore },
    { alertsToLog },
    { openHolders },
    { openLog },
    { systemClock, systemTimers },
  ] = await Promise.all([
    import("./run-daemon.ts"),
    import("./adapters/store-sqlite/open-sqlite-store.ts"),
    import("./adapters/alerts-log/alerts-log.ts"),
    import("./adapters/holders-unix/open-holders.ts"),
    import("./adapters/log-pino/open-log.ts"),
    import("./adapters/clock-system/system-clock.ts"),
  ]);
  await runDaemon(options, {
    openStore: (folder) => openSqliteStore({ folder }),
    alerts: alertsToLog,
    holders: openHolders,
    log: openLog(),
    clock: systemClock,
    timers: systemTimers,
  });
});
