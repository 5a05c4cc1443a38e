import { watch } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { DurationMs } from "@rouse/contract";
import type { Timers } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { TaskDesk, TaskSource } from "../../ports/task-source.ts";
import { tendFile } from "./tend-file.ts";

export interface TaskFileParts {
  /** The configured path, asked before every look because it may change. `undefined`: there is none. */
  file(): string | undefined;
  /** What a relative path starts from. */
  readonly folder: string;
  readonly timers: Timers;
  readonly log: Log;
}

interface Tended {
  readonly path: string;
  readonly tending: ReturnType<typeof tendFile>;
  readonly unwatch: () => void;
}

const lookEvery: DurationMs = 3000;
/** An editor touches a file several times in a row, and so do agents. */
const afterTouch: DurationMs = 50;
const afterChange: DurationMs = 200;
/** A long file is written less often. */
const perMegabyte: DurationMs = 500;

/** Tasks in a file of JSON lines, for people without an orchestrator. A missing file is waited for, never made. */
export function openTaskFile({ file, folder, timers, log }: TaskFileParts): TaskSource {
  const pause = (): Promise<void> => new Promise((resolve) => timers.soon(resolve));
  let desk: TaskDesk | null = null;
  let tended: Tended | null = null;
  let stopHearing: () => void = () => undefined;
  let cancelSoon: (() => void) | null = null;
  let cancelNext: () => void = () => undefined;
  let underWay: Promise<void> | null = null;
  let last: string | null = null;
  let closed = false;

  function soon(delay: DurationMs): void {
    if (closed || cancelSoon !== null) return;
    cancelSoon = timers.after(delay, () => {
      cancelSoon = null;
      look();
    });
  }

  function look(): void {
    if (closed) return;
    if (underWay !== null) return soon(afterTouch);
    cancelNext();
    underWay = lookNow().then((again) => {
      underWay = null;
      if (closed) return;
      if (again) soon(afterTouch);
      cancelNext = timers.after(lookEvery, look);
    });
  }

  async function lookNow(): Promise<boolean> {
    try {
      const current = await choose(pathOf(file(), folder));
      const again = (await current?.tending.look()) ?? false;
      last = null;
      return again;
    } catch (error) {
      tellFault(String(error));
      return false;
    }
  }

  function tellFault(problem: string): void {
    if (problem !== last) log.error({ problem }, "the task file could not be tended to; it will be tried again");
    last = problem;
  }

  async function choose(path: string | null): Promise<Tended | null> {
    if (path === (tended?.path ?? null) || desk === null) return tended;
    await leave();
    if (path === null) return null;
    const tending = tendFile({ path, desk, log, pause });
    tended = { path, tending, unwatch: watchFile(path, () => soon(afterTouch)) };
    return tended;
  }

  async function leave(): Promise<void> {
    tended?.unwatch();
    await tended?.tending.close();
    tended = null;
  }

  return {
    begin(given) {
      desk = given;
      stopHearing = given.onSaved((taskIds) => {
        if (tended?.tending.noteSaved(taskIds))
          soon(afterChange + perMegabyte * (tended.tending.bytes() / 1024 / 1024));
      });
      look();
    },
    async close() {
      closed = true;
      stopHearing();
      cancelSoon?.();
      cancelNext();
      await underWay;
      await leave();
    },
  };
}

function pathOf(given: string | undefined, folder: string): string | null {
  if (given === undefined) return null;
  return given.startsWith("~/") ? join(homedir(), given.slice(2)) : resolve(folder, given);
}

/**
 * Calls `changed` when something happens to a file. The folder is watched, because an editor replaces the file. Where
 * watching does not work nobody is called; the look every few seconds finds the change.
 */
function watchFile(path: string, changed: () => void): () => void {
  try {
    const watcher = watch(dirname(path), { persistent: false }, (_, name) => {
      if (name === null || name === basename(path)) changed();
    });
    watcher.on("error", () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => undefined;
  }
}
