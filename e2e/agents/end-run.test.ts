import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { cleanUp, makeFolder, watchChild } from "../clean-up.ts";
import { endRun } from "./end-run.ts";

afterEach(cleanUp);

it("ends what a cell left behind, with its folder, and nobody else", async () => {
  const runs = join(makeFolder(), "runs");
  const home = join(runs, "r-1", "home");
  mkdirSync(home, { recursive: true });
  const sleep = (where: string) => {
    const child = spawn("sleep", ["600"], { env: { PATH: process.env["PATH"], HOME: where } });
    watchChild(child);
    return child;
  };
  const [left, other] = [sleep(home), sleep(`${home}-of-somebody-else`)];
  const ended = new Promise((resolve) => left.once("exit", (_, signal) => resolve(signal)));
  endRun(runs);
  expect(await ended).toBe("SIGKILL");
  expect(other.exitCode ?? other.signalCode).toBeNull();
  expect(existsSync(runs)).toBe(false);
});
