import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { openGitWorkspaces } from "../packages/daemon/src/adapters/workspaces-git/open-git-workspaces.ts";
import type { Workspaces } from "../packages/daemon/src/ports/workspaces.ts";
import { type Line, line, median, percentile } from "./report.ts";
import { makeDataFolder, removeDataFolder } from "./start-servers.ts";
import type { BenchOptions } from "./throughput.ts";

const files = 50_000;
const filesPerFolder = 100;
const rounds = 5;
const changedPerRound = 20;
const newPerRound = 20;

/** Saving the work tree of a large repository, beside what git itself takes to look at it and to stash it. */
export async function benchSnapshots({ say }: BenchOptions): Promise<Line[]> {
  const home = makeDataFolder();
  try {
    const top = join(home, "repository");
    say(`making a repository of ${files.toLocaleString("en")} files`);
    await makeRepository(top);
    const workspaces = openGitWorkspaces({ scratch: join(home, "scratch") });
    const ours: number[] = [];
    const status: number[] = [];
    const stash: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      touch(top, round);
      ours.push(await time(() => snapshot(workspaces, top, round)));
      status.push(await time(() => git(top, "status", "--porcelain")));
      stash.push(await time(() => git(top, "stash", "create")));
      const [a, b, c] = [ours, status, stash].map((times) => (times.at(-1) ?? 0).toFixed(2));
      say(`round ${round} of ${rounds}: snapshot ${a} s, git status ${b} s, git stash create ${c} s`);
    }
    return describe(ours, status, stash);
  } finally {
    removeDataFolder(home);
  }
}

function describe(ours: readonly number[], status: readonly number[], stash: readonly number[]): Line[] {
  const beside = (peer: readonly number[]) => ({
    peer: median(peer),
    ratio: median(ours.map((value, round) => value / (peer[round] ?? value))),
  });
  const what = `snapshot of ${files.toLocaleString("en")} files, few changed`;
  return [
    line(`${what}, beside git status, p50`, "s", median(ours), beside(status)),
    line(`${what}, beside git stash create, p50`, "s", median(ours), beside(stash)),
    line(`${what}, slowest of ${rounds}`, "s", percentile(ours, 1), { aim: { of: "ours", atMost: 3 } }),
  ];
}

async function snapshot(workspaces: Workspaces, folder: string, round: number): Promise<void> {
  const request = { agentId: "bench", incarnation: 1, key: `round-${round}`, folder, reason: "measuring" };
  const outcome = await workspaces.snapshot(request);
  if (outcome.kind !== "taken") throw new Error(`no snapshot was taken: ${JSON.stringify(outcome)}`);
  const expected = round * (changedPerRound + newPerRound);
  if (outcome.snapshot.changed !== expected)
    throw new Error(`${expected} files differ, the snapshot holds ${outcome.snapshot.changed} of them`);
}

async function makeRepository(top: string): Promise<void> {
  mkdirSync(top);
  await git(top, "init", "--quiet");
  // It would tidy up in the background while we measure, and while we remove it.
  await git(top, "config", "gc.auto", "0");
  for (let folder = 0; folder < files / filesPerFolder; folder++) {
    const path = folderOf(top, folder);
    mkdirSync(path, { recursive: true });
    for (let n = 0; n < filesPerFolder; n++) writeFileSync(join(path, `file-${n}.txt`), textOf(folder, n));
  }
  await git(top, "add", "-A");
  await git(top, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "-m", "all of it");
}

/** Other files in each round. */
function touch(top: string, round: number): void {
  for (let n = 0; n < changedPerRound; n++)
    writeFileSync(join(folderOf(top, round * 50 + n), "file-0.txt"), `changed in round ${round}\n`);
  for (let n = 0; n < newPerRound; n++)
    writeFileSync(join(folderOf(top, round * 50 + n), `new-${round}.txt`), `new in round ${round}, ${n}\n`);
}

const folderOf = (top: string, folder: number): string =>
  join(top, `part-${folder % 20}`, `section-${Math.floor(folder / 20)}`);

/** About as long as a source file. */
const textOf = (folder: number, n: number): string =>
  `${folder} ${n}\n${"a line of some length that says little\n".repeat(50)}`;

async function time(act: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await act();
  return (performance.now() - from) / 1000;
}

const git = (cwd: string, ...args: string[]) => promisify(execFile)("git", args, { cwd, maxBuffer: 64 * 1024 * 1024 });
