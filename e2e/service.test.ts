import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { isSame } from "../packages/holder/src/processes/read-processes.ts";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { endAgentsAfterwards } from "./end-agents.ts";
import { agentLives, holderOf } from "./held-agents.ts";
import { type Ended, program, runRouse } from "./run-rouse.ts";
import { until } from "./until.ts";
import { canRunUserSystemd, startUserSystemd } from "./user-systemd.ts";

afterEach(cleanUp);

const canAnalyze = spawnSync("systemd-analyze", ["--version"]).status === 0;
if (!canAnalyze) console.error("e2e: systemd-analyze IS NOT ON THIS MACHINE: the unit of the service is NOT VERIFIED.");

interface Place {
  readonly home: string;
  readonly file: string;
  rouse(...words: string[]): Promise<Ended>;
}

/** No systemd of this user can be reached from here, unless `environment` says where. */
function newPlace(environment: Record<string, string> = {}, home = join(makeFolder(), "home")): Place {
  endAgentsAfterwards(home);
  return {
    home,
    file: join(home, ".config", "systemd", "user", "rouse.service"),
    rouse: (...words) => runRouse(words, { home, environment }),
  };
}

describe("rouse service install", () => {
  it.skipIf(!canAnalyze)("writes a unit that systemd has nothing to say against, also for awkward names", async () => {
    const { file, home, rouse } = newPlace({}, join(makeFolder(), 'my 100% $data "x"', "home"));
    mkdirSync(home, { recursive: true });
    await rouse("service", "install", "--port", "23190", "--config", "my config.yaml");
    const env = { PATH: process.env["PATH"], HOME: home, XDG_RUNTIME_DIR: makeFolder() };
    const { status, stdout, stderr } = spawnSync("systemd-analyze", ["--user", "verify", file], {
      env,
      encoding: "utf8",
    });
    expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: "" });
    writeFileSync(file, readFileSync(file, "utf8").replace("KillMode=process", "KillMode=sometimes"));
    const wrong = spawnSync("systemd-analyze", ["--user", "verify", file], { env, encoding: "utf8" });
    expect(wrong.stderr).toContain("kill mode");
  });

  it("without a systemd to talk to writes the unit, without secrets, and says what to type", async () => {
    const { file, home, rouse } = newPlace();
    const { code, stdout, stderr } = await rouse("service", "install");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const word of [file, "daemon-reload", "enable --now rouse.service", "enable-linger"])
      expect(stdout).toContain(word);
    const unit = readFileSync(file, "utf8");
    for (const word of [`${process.execPath} ${program} up`, `ROUSE_HOME=${home}`, "KillMode=process"])
      expect(unit).toContain(word);
    expect(unit).not.toContain("TOKEN");
    expect((await rouse("service", "install", "--print")).stdout).toBe(unit);
    expect(await rouse("service", "status")).toMatchObject({ code: 3, stdout: expect.stringContaining(file) });
    expect(JSON.parse((await rouse("service", "status", "--json")).stdout)).toMatchObject({
      installed: true,
      ours: true,
    });
    expect((await rouse("service", "uninstall")).code).toBe(0);
    expect(existsSync(file)).toBe(false);
    expect(await rouse("service", "uninstall")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("There is no"),
    });
  });

  it("prints the unit with --print, and writes nothing", async () => {
    const { file, rouse } = newPlace();
    const { code, stdout } = await rouse("service", "install", "--print", "--port", "23191");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ExecStart=.* --port 23191$/m);
    expect(existsSync(file)).toBe(false);
  });

  it("leaves a unit alone that it did not write, unless it is forced", async () => {
    const { file, home, rouse } = newPlace();
    mkdirSync(join(home, ".config", "systemd", "user"), { recursive: true });
    writeFileSync(file, "[Service]\nExecStart=/my/own\n");
    for (const what of ["install", "uninstall"]) {
      expect(await rouse("service", what)).toMatchObject({ code: 7, stderr: expect.stringContaining("--force") });
      expect(readFileSync(file, "utf8")).toContain("/my/own");
    }
    expect((await rouse("service", "install", "--force")).code).toBe(0);
    expect(readFileSync(file, "utf8")).toContain(program);
  });

  it("is refused beside a Rouse with the same data", async () => {
    const { file, rouse } = newPlace();
    await rouse("up", "-d", "--port", "0");
    expect(await rouse("service", "install")).toMatchObject({ code: 7, stderr: expect.stringContaining("rouse down") });
    expect(existsSync(file)).toBe(false);
  });
});

const mayRun = await canRunUserSystemd();
if (!mayRun)
  console.error("e2e: A SYSTEMD OF A USER CANNOT BE STARTED HERE (not root?): the tests of the service are SKIPPED.");

describe.skipIf(!mayRun)("as a service of systemd", () => {
  it("Rouse starts, comes back after kill -9, stops with `rouse down`, is removed, and agents live on through all of it", async () => {
    const home = join(makeFolder(), "home");
    const { file, rouse } = newPlace(await startUserSystemd(home), home);
    const left = () => JSON.parse(readFileSync(join(home, "daemon.json"), "utf8"));

    // Where Rouse can make control groups, agents are out of reach of systemd by those already.
    mkdirSync(`${file}.d`, { recursive: true });
    writeFileSync(join(`${file}.d`, "confined.conf"), "[Service]\nReadOnlyPaths=/sys/fs/cgroup\n");
    const installed = await rouse("service", "install", "--port", "0");
    expect(installed).toMatchObject({ code: 0, stderr: "" });
    for (const word of [left().url, String(left().pid), "journalctl"]) expect(installed.stdout).toContain(word);
    expect(left()).toMatchObject({ startedBy: "service", log: null });
    expect(await rouse("service", "status")).toMatchObject({ code: 0, stdout: expect.stringContaining("enabled") });
    await rouse("spawn", "--name", "ada", "--", "sleep", "1000");
    const first = holderOf(home, "ada");
    await rouse("terminate", "ada");
    await until("its holder left", () => !isSame(first.holder));
    // Of this life the service started the holder, so systemd could end it together with the service.
    expect((await rouse("recover", "ada")).code).toBe(0);
    const agent = holderOf(home, "ada");
    for (const pid of [agent.holder.pid, agent.agent?.pid])
      expect(readFileSync(`/proc/${pid}/cgroup`, "utf8")).toMatch(/^0::.*\/rouse\.service$/m);
    const livesOn = () => agentLives(agent) && isSame(agent.holder);

    const { pid } = left();
    process.kill(pid, "SIGKILL");
    await until("systemd started it again", async () => (await rouse("status")).code === 0 && left().pid !== pid);
    expect(livesOn()).toBe(true);

    const down = await rouse("down");
    expect(down).toMatchObject({ code: 0, stdout: expect.stringContaining("through systemd") });
    expect(down.stdout).toContain("1 agent runs on: ada");
    expect(JSON.parse((await rouse("service", "status", "--json")).stdout)).toMatchObject({ active: "inactive" });
    expect(livesOn()).toBe(true);

    expect((await rouse("service", "install", "--port", "0")).code).toBe(0);
    expect(await rouse("service", "uninstall")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Agents run on"),
    });
    expect(existsSync(file)).toBe(false);
    expect((await rouse("status")).code).toBe(3);
    expect(livesOn()).toBe(true);
  });

  it("one that cannot start is not tried again for ever, and it is said where to look", async () => {
    const home = join(makeFolder(), "home");
    const { rouse } = newPlace(await startUserSystemd(home), home);
    writeFileSync(join(home, "config.yaml"), "preset: flet\n");
    const installed = await rouse("service", "install", "--port", "0");
    expect(installed).toMatchObject({ code: 3, stderr: expect.stringContaining("journalctl --user -u rouse") });
    expect(JSON.parse((await rouse("service", "status", "--json")).stdout)).toMatchObject({ active: "failed" });
  });
});
