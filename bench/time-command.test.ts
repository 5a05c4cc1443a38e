import { expect, it } from "vitest";
import { readTimes, timeCommand } from "./time-command.ts";

const here = { env: process.env, cwd: "/" };

it("reads times in milliseconds, however numbers are written", () => {
  expect(readTimes("0.050 0.010 0.120\n")).toEqual({ cpu: 60, wall: 120 });
  expect(readTimes("0,050 0,010 0,120\n")).toEqual({ cpu: 60, wall: 120 });
  expect(() => readTimes("bash: time: not found")).toThrow("bash told no times");
});

it("tells what a command cost, whatever it prints, and not what one cost that failed", async () => {
  const { cpu, wall } = await timeCommand(
    ["bash", "-c", "echo out; echo err >&2; for ((i = 0; i < 9999; i++)); do :; done"],
    here,
  );
  expect(cpu).toBeGreaterThan(0);
  expect(wall).toBeGreaterThan(0);
  await expect(timeCommand(["bash", "-c", "exit 3"], here)).rejects.toThrow("ended with 3");
});
