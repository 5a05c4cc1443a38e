import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

type Chore = () => Promise<void> | void;

const chores: Chore[] = [];
const kept: Chore[] = [];
const children = new Set<ChildProcess>();

/** Has a chore run when the test is over; the last chore runs first. */
export function afterwards(chore: Chore): void {
  chores.push(chore);
}

/** Begins something for all tests of a file: the `cleanUp` after each test leaves its chores alone. */
export async function keepForAll<T>(begin: () => Promise<T>): Promise<T> {
  const before = chores.splice(0);
  try {
    return await begin();
  } finally {
    kept.push(...chores.splice(0));
    chores.push(...before);
  }
}

/** For `afterAll`: undoes what was begun for all tests of a file. */
export const cleanUpKept = (): Promise<void> => runAll(kept);

/** For `afterEach` or `afterAll`: runs every chore, also when an earlier one failed. */
export const cleanUp = (): Promise<void> => runAll(chores);

async function runAll(chores: Chore[]): Promise<void> {
  const failures: unknown[] = [];
  for (let chore = chores.pop(); chore !== undefined; chore = chores.pop()) {
    try {
      await chore();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, "cleaning up failed");
}

/** Ends a process with its test, or with the test runner. SIGKILL also reaches a process that is stopped. */
export function watchChild(child: ChildProcess): void {
  children.add(child);
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => {
      children.delete(child);
      resolve();
    });
  });
  afterwards(async () => {
    if (!children.has(child)) return;
    child.kill("SIGKILL");
    await gone;
  });
}

process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "rouse-e2e-"));
  afterwards(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
