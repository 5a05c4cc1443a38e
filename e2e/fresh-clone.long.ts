import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { afterwards, cleanUp, makeFolder } from "./clean-up.ts";
import { run, runExample } from "./published-packages.ts";
import { repository, startProgram } from "./run-rouse.ts";
import { until } from "./until.ts";

// Part of `npm run test:long`, because it installs everything from npm's registry.

afterEach(cleanUp);

/** What a clone of this working tree would have. */
async function copyRepository(): Promise<string> {
  const clone = join(makeFolder(), "clone");
  const { stdout } = await run("git", [
    "ls-files",
    "-z",
    "--cached",
    "--others",
    "--exclude-standard",
    "--deduplicate",
  ]);
  for (const path of stdout.split("\0").filter(Boolean)) {
    cpSync(join(repository, path), join(clone, path));
  }
  return clone;
}

/** A folder for PATH with these programs and no others: no compiler, no make, no Python. */
async function onlyThese(...names: string[]): Promise<string> {
  const folder = join(makeFolder(), "bin");
  mkdirSync(folder);
  for (const name of names) {
    symlinkSync((await run("sh", ["-c", `command -v ${name}`])).stdout.trim(), join(folder, name));
  }
  return folder;
}

it("npm start in a fresh clone needs no compiler and no install scripts, and brings the libraries along", async () => {
  const clone = await copyRepository();
  const environment = {
    ...(process.env as Record<string, string>), // how to reach the registry
    PATH: await onlyThese("node", "npm", "sh", "env"),
    npm_config_ignore_scripts: "true",
  };
  const home = join(makeFolder(), "home");
  const words = ["--prefix", clone, "start", "--", "--port", "0"];
  const monitor = startProgram("npm", words, { home, environment: { ...environment, ROUSE_HOME: home } });
  // npm passes it on; killed, it would leave the monitor behind.
  afterwards(async () => {
    monitor.child.kill("SIGTERM");
    await monitor.ended;
  });
  const failed = monitor.ended.then(({ stderr }) => Promise.reject(new Error(stderr)));
  failed.catch(() => undefined);
  const listening = until(
    "it says where it listens",
    () => /is watching on (\S+)/.exec(monitor.stdout())?.[1],
    300_000,
  );
  const url = await Promise.race([listening, failed]);
  const token = readFileSync(join(home, "token"), "utf8").trim();
  const { stdout } = await runExample("packages/sdk", {
    cwd: clone,
    env: { ...environment, ROUSE_URL: url, ROUSE_TOKEN: token },
  });
  expect(stdout).toBe("the beat was accepted\nworker-2 is HEALTHY\n");
});
