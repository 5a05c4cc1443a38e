import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  hasMark,
  identityOf,
  isAlive,
  isSame,
  parseEnvironment,
  parseStat,
  readAllProcesses,
  readIoBytes,
  readProcess,
  readUnits,
} from "./read-processes.ts";
import { killHard, nurseryOfEach, onLinux, patient, until } from "./real-processes.test-support.ts";

describe("a line of /proc/PID/stat", () => {
  const numbers = Array.from({ length: 49 }, (_, index) => String(index + 4)).join(" ");

  it("is read by the numbers of its manual page", () => {
    expect(parseStat(`77 (sh) S ${numbers}`)).toEqual({
      pid: 77,
      name: "sh",
      state: "S",
      ppid: 4,
      pgid: 5,
      session: 6,
      tty: 7,
      foreground: 8,
      cpuTicks: 14 + 15,
      childCpuTicks: 16 + 17,
      threads: 20,
      startTicks: 22,
      rssPages: 24,
    });
  });

  it("is not confused by a process that names itself like a line of it", () => {
    const name = "x) Z 1 1 1 (y";
    expect(parseStat(`77 (${name}) S ${numbers}`)).toMatchObject({ pid: 77, name, state: "S", ppid: 4 });
    expect(parseStat("")).toBeNull();
  });
});

describe.skipIf(!onLinux)("a process", patient, () => {
  const nursery = nurseryOfEach();

  it("is read whatever it is called", async () => {
    const program = join(nursery.folder, "a) Z (b c");
    copyFileSync("/bin/sleep", program);
    const child = spawn(program, [`1000.${nursery.token}`], { stdio: "ignore" });
    await until(() => readProcess(child.pid ?? 0)?.name === "a) Z (b c", "its name");
    expect(readProcess(child.pid ?? 0)?.ppid).toBe(process.pid);
    expect(identityOf(child.pid ?? 0)).not.toBeNull();
    expect(readAllProcesses().map(({ pid }) => pid)).toEqual(expect.arrayContaining([process.pid, child.pid]));
  });

  it("is the same only with the same start, and no more once it is a zombie", async () => {
    const script = nursery.write("parent.sh", [
      `{ while [ ! -e ${nursery.folder}/end ]; do sleep 0.05; done; } &`,
      `echo $! > ${nursery.folder}/zombie`,
      `exec ${nursery.linger}`,
    ]);
    const parent = spawn("sh", [script], { stdio: "ignore" });
    // A shell might wait for it; what it has become does not.
    await until(() => readProcess(parent.pid ?? 0)?.name === "sleep", "a parent that waits for nobody");
    nursery.write("end", []);
    await until(() => readProcess(nursery.pidIn("zombie"))?.state === "Z", "the zombie");
    const zombie = readProcess(nursery.pidIn("zombie"));
    expect(zombie === null || isAlive(zombie)).toBe(false);
    expect(identityOf(zombie?.pid ?? 0)).toBeNull();

    const self = identityOf(process.pid);
    expect(self !== null && isSame(self)).toBe(true);
    expect(self !== null && isSame({ ...self, startTicks: self.startTicks + 1 })).toBe(false);
    expect(identityOf(2 ** 22 + 1)).toBeNull();
  });

  it("is alive while any of its threads is, though it looks like a zombie", async ({ skip }) => {
    const code = [
      "import ctypes, sys, threading, time",
      "threading.Thread(target=time.sleep, args=(1000,)).start()",
      "ctypes.CDLL(None).pthread_exit(None)",
    ].join("\n");
    const child = spawn("python3", ["-c", code], { stdio: "ignore" });
    const started = await Promise.race([once(child, "spawn").then(() => true), once(child, "error").then(() => false)]);
    if (!started) {
      console.warn("NOT RUN: a main thread that ended before the others: python3 is not here");
      skip();
    }
    try {
      await until(() => readProcess(child.pid ?? 0)?.state === "Z", "the end of its main thread");
      expect(identityOf(child.pid ?? 0)).not.toBeNull();
    } finally {
      killHard(child.pid ?? 0);
    }
  });

  it("has a mark only if that is a whole entry of its environment", async () => {
    const env = { ROUSE_MARK: "abc", OTHER: "ROUSE_MARK=def" };
    const child = spawn("/bin/sleep", [`1000.${nursery.token}`], { stdio: "ignore", env });
    await until(() => hasMark(child.pid ?? 0, "abc"), "its environment");
    expect(["ab", "abcd", "def", ""].filter((mark) => hasMark(child.pid ?? 0, mark))).toEqual([]);
  });

  it("is counted in the units of this machine", () => {
    const { ticksPerSecond, pageBytes } = readUnits();
    expect([100, 250, 300, 1000, 1024]).toContain(ticksPerSecond);
    expect([4096, 16384, 65536]).toContain(pageBytes);
    expect(readIoBytes(process.pid)).toBeGreaterThan(0);
    expect(readIoBytes(2 ** 22 + 1)).toBe(0);
  });
});

it("of a variable that stands twice in an environment the first counts, as the process itself sees it", () => {
  expect(parseEnvironment("ROUSE_MARK=a\0PATH=/bin\0ROUSE_MARK=b\0").get("ROUSE_MARK")).toBe("a");
});
