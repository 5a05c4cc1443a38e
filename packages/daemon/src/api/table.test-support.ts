import { systemTimers } from "../adapters/clock-system/system-clock.ts";
import { createMemoryDisk, type MemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { handsOff } from "../hands-off.test-support.ts";
import { type Monitor, startMonitor } from "../monitor.ts";
import type { Route } from "./route.ts";
import { apiTable } from "./table.ts";

/** The whole table, over a real monitor whose clock stands still. */
export async function tableOfMonitor(
  disk: MemoryDisk = createMemoryDisk(),
): Promise<{ table: readonly Route[]; monitor: Monitor }> {
  const clock = { mono: 0, boot: 0, wall: Date.UTC(2026, 0, 1) };
  const monitor = await startMonitor({
    ...handsOff,
    store: await openMemoryStore(disk),
    clock: { mono: () => clock.mono, wall: () => clock.wall, read: () => clock },
    timers: systemTimers,
    alerts: { deliver: async () => undefined },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    config: requireConfig(readConfig({ file: { name: "test", text: "preset: default" } })),
    version: "test",
  });
  const { table } = apiTable(monitor, {
    version: "1.2.3",
    secret: "secret",
    isStillWelcome: () => true,
    maySee: () => true,
    door: () => () => undefined,
  });
  return { table, monitor };
}
