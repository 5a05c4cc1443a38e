import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { readProcess } from "../packages/holder/src/processes/read-processes.ts";
import { sh } from "./agent-once.ts";
import { afterwards, cleanUp, makeFolder } from "./clean-up.ts";
import { endAgentsAfterwards, processesOf } from "./end-agents.ts";
import { agentLives, holderOf, outputOf, spawnAgent } from "./held-agents.ts";
import { canMount, mountDisk } from "./mount-disk.ts";
import { type Ended, program, runRouse, startProgram } from "./run-rouse.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

interface Place {
  readonly home: string;
  rouse(...words: string[]): Promise<Ended>;
  with(environment: Record<string, string>): Omit<Place, "with">;
}

/** A data folder of its own; whatever runs with it ends with the test. */
function newPlace(home = join(makeFolder(), "home")): Place {
  endAgentsAfterwards(home);
  return {
    home,
    rouse: (...words) => runRouse(words, { home }),
    with: (environment) => ({ home, rouse: (...words) => runRouse(words, { home, environment }) }),
  };
}

interface Left {
  readonly pid: number;
  readonly url: string;
  readonly startedBy: string;
}

const left = (home: string): Left => JSON.parse(readFileSync(join(home, "daemon.json"), "utf8"));
const inHome = ({ home }: Pick<Place, "home">, name: string): string => readFileSync(join(home, name), "utf8");
const port = (home: string): string => new URL(left(home).url).port;
const isThere = (pid: number): boolean => readProcess(pid) !== null;
const forever = ["sh", "-c", "n=0; while :; do n=$((n+1)); echo line $n; sleep 0.2; done"];

async function takePort(): Promise<{ port: string; free(): Promise<void> }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const free = () => new Promise<void>((resolve) => void server.close(() => resolve()));
  afterwards(free);
  return { port: String((server.address() as AddressInfo).port), free };
}

describe("rouse up -d", () => {
  it("comes back when Rouse is live, and says where it listens, where its log is and what to type next", async () => {
    const { home, rouse } = newPlace();
    const { code, stdout, stderr } = await rouse("up", "-d", "--port", "0");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { pid, url, startedBy } = left(home);
    for (const word of [`watching on ${url}`, String(pid), join(home, "rouse.log"), "run -- COMMAND", "rouse down"])
      expect(stdout).toContain(word);
    expect(startedBy).toBe("detached");
    expect(await fetch(`${url}/livez`).then(({ status }) => status)).toBe(200);
    expect(readProcess(pid)).toMatchObject({ session: pid, tty: 0 });
    expect(statSync(join(home, "rouse.log")).mode & 0o777).toBe(0o600);
    expect(inHome({ home }, "rouse.log")).toContain('"msg":"watching"');
    expect((await rouse("ps")).code).toBe(0);
  });

  it("says so when one is running already, and what of the options it does not run with", async () => {
    const { home, rouse, with: having } = newPlace();
    const first = JSON.parse((await rouse("up", "-d", "--port", "0", "--json")).stdout);
    expect(first).toMatchObject({ started: true, pid: left(home).pid, url: left(home).url, differs: [] });
    const again = await rouse("up", "-d");
    expect(again).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("already running") });
    for (const word of [String(first.pid), first.url]) expect(again.stdout).toContain(word);
    const other = await rouse("up", "--detach", "--port", "1", "--config", "other.yaml", "--host", "::1", "--json");
    expect(other.code).toBe(0);
    expect(JSON.parse(other.stdout)).toMatchObject({ started: false, pid: first.pid });
    for (const word of [`${port(home)}, not 1;`, "other.yaml;", "not ::1;"]) expect(other.stderr).toContain(word);
    expect(await having({ ROUSE_PORT: "1" }).rouse("up", "-d")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("not 1;"),
    });
    const logs = await rouse("up", "-d", "--log-max-size", "20kB", "--log-keep", "2", "--json");
    const change = "`rouse down` and start it again to change that";
    expect(JSON.parse(logs.stdout).differs).toEqual([
      `it runs with a log of up to 10000 kB, not 20 kB; ${change}`,
      `it runs with 5 older logs kept, not 2; ${change}`,
    ]);
    const same = await rouse("up", "-d", "--log-max-size", "10MB", "--log-keep", "5", "--json");
    expect(JSON.parse(same.stdout).differs).toEqual([]);
    expect(left(home).pid).toBe(first.pid);
  });

  it("called several times at the same moment starts one, and all say which", async () => {
    const { home, rouse } = newPlace();
    const ends = await Promise.all([1, 2, 3].map(() => rouse("up", "-d", "--port", "0", "--json")));
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0]);
    const said = ends.map(({ stdout }) => JSON.parse(stdout));
    expect(said.map(({ pid }) => pid)).toEqual([1, 2, 3].map(() => left(home).pid));
    expect(said.filter(({ started }) => started)).toHaveLength(1);
    expect(processesOf(home)).toEqual([left(home).pid]);
  });

  it("keeps nothing of another Rouse that this terminal speaks to", async () => {
    const { home, with: having } = newPlace();
    const elsewhere = { ROUSE_URL: "https://rouse.example.org", ROUSE_TOKEN: "s3cret-s3cret-s3cret" };
    expect((await having(elsewhere).rouse("up", "-d", "--port", "0")).code).toBe(0);
    expect(readFileSync(`/proc/${left(home).pid}/environ`, "utf8")).not.toMatch(/ROUSE_URL|ROUSE_TOKEN/);
  });

  it("reads a configuration that is named from the folder it was called in", async () => {
    const { home, rouse } = newPlace();
    writeFileSync(join(home, "..", "fleet.yaml"), "preset: fleet\n");
    expect((await rouse("up", "-d", "--port", "0", "--config", "fleet.yaml")).code).toBe(0);
    expect(left(home)).toMatchObject({ preset: "fleet", asked: { config: join(home, "..", "fleet.yaml") } });
    expect((await rouse("up", "-d", "--config", join(home, "..", "fleet.yaml"))).stderr).toBe("");
  });

  it("starts again after kill -9, and knows what was there", async () => {
    const { home, rouse } = newPlace();
    await rouse("up", "-d", "--port", "0");
    const agent = await spawnAgent(home, "ada", forever);
    const { pid } = left(home);
    process.kill(pid, "SIGKILL");
    await until("it is gone", () => !isThere(pid) || readProcess(pid)?.state === "Z");
    expect(await rouse("up", "-d", "--port", "0")).toMatchObject({ code: 0, stderr: "" });
    expect(left(home).pid).not.toBe(pid);
    await until("it knows the agent", async () => (await rouse("health", "ada")).code === 0);
    expect(agentLives(agent)).toBe(true);
  });
});

describe("a start in the background that fails", () => {
  it("ends as the daemon did, in its own words, and leaves nothing behind", async () => {
    const { home, rouse } = newPlace();
    const { port: taken } = await takePort();
    const end = await rouse("up", "-d", "--port", taken);
    expect(end).toMatchObject({ code: 7, stdout: "" });
    expect(end.stderr).toMatch(
      new RegExp(`^rouse: port ${taken} on 127.0.0.1 is taken; choose another with --port\n$`),
    );
    expect(existsSync(join(home, "daemon.json"))).toBe(false);
    expect(readdirSync(home).filter((name) => name.startsWith("rouse.stderr"))).toEqual([]);
    expect(processesOf(home)).toEqual([]);
  });

  it("shows every mistake of a configuration", async () => {
    const { home, rouse } = newPlace();
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, "config.yaml"), "preset: flet\nhealth_monitoring:\n  mode: maybe\n");
    const end = await rouse("up", "-d", "--port", "0");
    expect(end).toMatchObject({ code: 2, stdout: "" });
    for (const word of ["config.yaml:1", "did you mean fleet", "config.yaml:3", "maybe"])
      expect(end.stderr).toContain(word);
    expect(end.stderr.match(/rouse: /g)).toHaveLength(1);
  });

  it("refuses a ROUSE_PORT that is none, in every way of starting, and goes by the option if there is one", async () => {
    const { home, with: having } = newPlace();
    const { rouse } = having({ ROUSE_PORT: "seven" });
    for (const words of [["up"], ["up", "-d"]]) {
      const end = await rouse(...words);
      expect(end).toMatchObject({ code: 2, stdout: "" });
      expect(end.stderr).toMatch(/^rouse: ROUSE_PORT is "seven"; set it to [^\n]*\n$/);
    }
    expect((await rouse("doctor")).stdout).toContain('ROUSE_PORT is "seven"');
    expect((await rouse("up", "-d", "--port", "0")).code).toBe(0);
    expect(Number(port(home))).toBeGreaterThan(0);
  });

  it("is not begun inside an agent, with which it would end", async () => {
    const { home, rouse } = newPlace();
    await spawnAgent(home, "inner", [
      "sh",
      "-c",
      `"${process.execPath}" "${program}" up -d; echo code $?; exec sleep 1000`,
    ]);
    await until("it was refused", () => outputOf(home, "inner").text.includes("code 4"));
    expect(outputOf(home, "inner").text).toContain("would end with that agent");
    expect(existsSync(join(home, "daemon.json"))).toBe(false);
    expect((await rouse("status")).code).toBe(3);
  });
});

describe("ROUSE_PORT", () => {
  it("is where Rouse listens, and where its agents expect it before it is there", async () => {
    const { home, with: having } = newPlace();
    const chosen = await takePort();
    await chosen.free();
    const { rouse } = having({ ROUSE_PORT: chosen.port });
    await rouse("spawn", "--name", "early", "--", "sh", "-c", "echo $ROUSE_URL; exec sleep 1000");
    await until("it said its address", () => outputOf(home, "early").text.includes("\n"));
    expect(outputOf(home, "early").text.trim()).toBe(`http://127.0.0.1:${chosen.port}`);
    expect((await rouse("up", "-d")).code).toBe(0);
    expect(port(home)).toBe(chosen.port);
  });
});

describe("the log of a Rouse in the background", () => {
  it("begins anew at its size and keeps as many as it was told, while it runs", async () => {
    const { home, rouse } = newPlace();
    await rouse("up", "-d", "--port", "0", "--log-max-size", "1kB", "--log-keep", "2");
    const { pid } = left(home);
    const logs = () =>
      readdirSync(home)
        .filter((name) => name.startsWith("rouse.log"))
        .sort();
    const newest = () => `${statSync(join(home, "rouse.log")).ino} ${inHome({ home }, "rouse.log").length}`;
    const seen = new Set<number>();
    while (seen.size < 5) {
      const before = newest();
      process.kill(pid, "SIGHUP");
      await until("it wrote a line", () => existsSync(join(home, "rouse.log")) && newest() !== before);
      seen.add(statSync(join(home, "rouse.log")).ino);
    }
    expect(logs()).toEqual(["rouse.log", "rouse.log.1", "rouse.log.2"]);
    for (const name of logs()) {
      expect(statSync(join(home, name)).size).toBeLessThanOrEqual(1000);
      expect(statSync(join(home, name)).mode & 0o777).toBe(0o600);
      for (const line of inHome({ home }, name).trimEnd().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
    }
    expect((await rouse("up", "--log-keep", "2")).code).toBe(2);
    expect((await rouse("up", "-d", "--log-max-size", "tiny")).stderr).toContain("10MB or 500kB");
  });

  it("has the last words of one that crashed, and `rouse status` shows them before", async () => {
    const { home, rouse, with: having } = newPlace();
    const crash = join(home, "..", "crash.cjs");
    writeFileSync(crash, 'process.on("SIGUSR2", () => { throw new Error("a bug, for once"); });');
    expect((await having({ NODE_OPTIONS: `--require=${crash}` }).rouse("up", "-d", "--port", "0")).code).toBe(0);
    const { pid } = left(home);
    process.kill(pid, "SIGUSR2");
    const { code, stdout } = await until("it is gone", async () => {
      const end = await rouse("status");
      return end.code === 3 && end;
    });
    expect(code).toBe(3);
    expect(stdout).toContain(`process ${pid} is gone and did not say goodbye`);
    expect(stdout).toContain("Error: a bug, for once");
    expect((await rouse("up", "-d", "--port", "0")).code).toBe(0);
    expect(inHome({ home }, "rouse.log")).toMatch(/Error: a bug, for once.*wrote this before it ended/);
    expect(inHome({ home }, "rouse.stderr")).toBe("");
    expect((await rouse("status")).stdout).not.toContain("a bug");
  });
});

const mayMount = await canMount();
if (!mayMount) console.error("e2e: A SMALL DISK CANNOT BE MOUNTED HERE: the test of a log on a full disk is SKIPPED.");

describe.skipIf(!mayMount)("a disk that is full", () => {
  it("costs lines of the log, which says how many, and not the daemon", async () => {
    const disk = mountDisk();
    if (disk === null) throw new Error("a disk could be mounted a moment ago");
    const { home, rouse, with: having } = newPlace(disk.folder);
    const warn = join(makeFolder(), "warn.cjs");
    writeFileSync(warn, 'process.on("SIGUSR2", () => process.emitWarning("of Node itself, to stderr"));');
    const { rouse: rouseThatWarns } = having({ NODE_OPTIONS: `--require=${warn}` });
    await rouseThatWarns("up", "-d", "--port", "0", "--log-max-size", "1kB", "--log-keep", "100");
    const { pid } = left(home);
    disk.fill();
    process.kill(pid, "SIGUSR2");
    await until("a new log was begun that has no room for a line", () => {
      process.kill(pid, "SIGHUP");
      return statSync(join(home, "rouse.log")).size === 0;
    });
    const unready = await until("it cannot save", async () => {
      const end = await rouse("status");
      return end.code === 1 && end;
    });
    expect(unready.stdout).toContain("it cannot save anything");
    disk.makeRoom();
    await until("it says what was lost", () => {
      process.kill(pid, "SIGHUP");
      const logs = readdirSync(home).filter((name) => name.startsWith("rouse.log"));
      return /"lines":[1-9]\d*,"reason":"ENOSPC","msg":"lines that belong here could not be written"/.test(
        logs.map((name) => inHome({ home }, name)).join(""),
      );
    });
    await until("it is ready again", async () => (await rouse("status")).code === 0);
    expect(left(home).pid).toBe(pid);
  });
});

describe("rouse down", () => {
  it("stops Rouse and leaves agents alone, which the next one watches again with every line they wrote", async () => {
    const { home, rouse } = newPlace();
    await rouse("up", "-d", "--port", "0");
    const agent = await spawnAgent(home, "ada", forever);
    const { pid } = left(home);
    const { code, stdout, stderr } = await rouse("down");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(`Rouse is stopped: process ${pid}. 1 agent runs on: ada.\n`);
    expect(existsSync(join(home, "daemon.json"))).toBe(false);
    expect(agentLives(agent)).toBe(true);
    const before = outputOf(home, "ada").end;
    await until("it works on", () => outputOf(home, "ada").end > before);
    expect((await rouse("up", "-d", "--port", "0")).code).toBe(0);
    await until("it is watched again", async () => (await rouse("health", "ada")).code === 0);
    expect(holderOf(home, "ada")).toEqual(agent);
    const lines = outputOf(home, "ada").text.trimEnd().split(/\r?\n/);
    expect(lines).toEqual(lines.map((_, index) => `line ${index + 1}`));
  });

  it("is fine with none that runs", async () => {
    const { rouse } = newPlace();
    expect(await rouse("down")).toMatchObject({ code: 0, stdout: expect.stringContaining("No Rouse is running") });
    expect(JSON.parse((await rouse("down", "--json")).stdout)).toMatchObject({ wasRunning: false, pid: null });
  });

  it("never ends a process that has the number of one that is gone", async () => {
    const { home, rouse } = newPlace();
    mkdirSync(home, { mode: 0o700 });
    const other = startProgram("sleep", ["1000"], { home: join(makeFolder(), "home") });
    const info = await until("it runs", () => readProcess(other.pid));
    const leave = (startTicks: number | null): void =>
      writeFileSync(
        join(home, "daemon.json"),
        JSON.stringify({ pid: other.pid, startTicks, url: "http://127.0.0.1:1", startedAt: "", version: "1" }),
      );
    leave(info.startTicks - 1);
    expect(await rouse("down")).toMatchObject({ code: 0, stdout: expect.stringContaining("No Rouse is running") });
    leave(null);
    expect(await rouse("down")).toMatchObject({ code: 1, stderr: expect.stringContaining("for sure") });
    expect(other.child.exitCode).toBeNull();
    expect(other.child.signalCode).toBeNull();
  });

  it("gives up on one that does not end, and says what to do", async () => {
    const { home, rouse } = newPlace();
    await rouse("up", "-d", "--port", "0");
    const { pid } = left(home);
    process.kill(pid, "SIGSTOP");
    const end = await rouse("down", "--timeout", "1s");
    expect(end).toMatchObject({ code: 1, stdout: "" });
    expect(end.stderr).toContain(`kill -9 ${pid}`);
    process.kill(pid, "SIGCONT");
    await until("it took the order after all", async () => (await rouse("status")).code === 3);
  });
});

describe("rouse status", () => {
  it("tells what runs, where, since when and how many agents it sees, and ends with 0", async () => {
    const { home, rouse } = newPlace();
    await rouse("up", "-d", "--port", "0");
    await spawnAgent(home, "ada", forever);
    const { pid, url } = left(home);
    const { code, stdout } = await rouse("status");
    expect(code).toBe(0);
    for (const word of ["running and ready", url, String(pid), home, "preset default", "rouse.log", "1: HEALTHY 1"])
      expect(stdout).toContain(word);
    await rouse("freeze", "--reason", "lunch");
    writeFileSync(join(home, "config.yaml"), "preset: flet\n");
    const frozen = await rouse("status");
    expect(frozen.code).toBe(0);
    for (const word of ["rouse thaw", "lunch", "did you mean fleet"]) expect(frozen.stdout).toContain(word);
    expect(JSON.parse((await rouse("status", "--json")).stdout)).toMatchObject({
      life: "ready",
      running: true,
      ready: true,
      url,
      answer: { status: "frozen", agents_by_state: { HEALTHY: 1 } },
      daemon: { pid, startedBy: "detached" },
      problems: [{ advice: expect.stringContaining("rouse thaw") }, { what: expect.stringContaining("fleet") }],
    });
  });

  it("ends with 3 when none is running, and says which agents nobody watches", async () => {
    const { home, rouse } = newPlace();
    await spawnAgent(home, "ada", forever);
    const { code, stdout } = await rouse("status");
    expect(code).toBe(3);
    for (const word of ["No Rouse is running", "1 agent runs on: ada", "rouse up -d"]) expect(stdout).toContain(word);
    expect(JSON.parse((await rouse("status", "--json")).stdout)).toMatchObject({ life: "not-running", held: ["ada"] });
  });

  it("names agents of which only processes they left run, whether their holders stayed with them or not", async () => {
    const { home, rouse } = newPlace();
    const leaves = (status: number) => sh(`setsid sleep 60 & echo "left $!"; sleep 0.3; exit ${status}`);
    const ends = {
      good: await spawnAgent(home, "good", leaves(0)),
      bad: await spawnAgent(home, "bad", leaves(7), ["--restart", "no"]),
    };
    await spawnAgent(home, "done", sh("exit 0"));
    for (const held of Object.values(ends)) await until("it is over", () => !agentLives(held));
    await until(
      "one holder is gone",
      () => !isThere(ends.bad.holder.pid) || readProcess(ends.bad.holder.pid)?.state === "Z",
    );
    const words = "no agent that Rouse started is running; processes run on that were left by bad, good";
    expect((await rouse("status")).stdout.replace(/\s+/g, " ")).toContain(`${words}; nobody watches`);
    expect(JSON.parse((await rouse("status", "--json")).stdout)).toMatchObject({ held: [], left: ["bad", "good"] });
    await rouse("up", "-d", "--port", "0");
    expect((await rouse("down")).stdout).toContain(`${words.charAt(0).toUpperCase()}${words.slice(1)}.`);
    expect(JSON.parse((await rouse("down", "--json")).stdout)).toMatchObject({ agents: [], left: ["bad", "good"] });
    for (const name of ["good", "bad"])
      process.kill(Number(/left (\d+)/.exec(outputOf(home, name).text)?.[1]), "SIGKILL");
    await until("nobody is left", async () => JSON.parse((await rouse("status", "--json")).stdout).left.length === 0);
  });

  it("ends with 1 when one is there and does not answer", async () => {
    const { home, rouse } = newPlace();
    await rouse("up", "-d", "--port", "0");
    process.kill(left(home).pid, "SIGSTOP");
    const { code, stdout } = await rouse("status");
    expect(code).toBe(1);
    expect(stdout).toContain("does not answer");
    expect(stdout).toContain("rouse down");
  });

  it("ends with 3 when nobody answers at ROUSE_URL, and with 4 when the token there is another", async () => {
    const { home, rouse, with: having } = newPlace();
    const { port: silent, free } = await takePort();
    await free();
    const lost = await having({ ROUSE_URL: `http://127.0.0.1:${silent}`, ROUSE_TOKEN: "t".repeat(40) }).rouse("status");
    expect(lost).toMatchObject({ code: 3, stdout: expect.stringContaining("is ROUSE_URL right?") });
    await rouse("up", "-d", "--port", "0");
    const stranger = await having({ ROUSE_URL: left(home).url, ROUSE_TOKEN: "t".repeat(40) }).rouse("status");
    expect(stranger).toMatchObject({ code: 4, stdout: expect.stringContaining("token") });
    expect(await having({ ROUSE_URL: left(home).url }).rouse("status")).toMatchObject({ code: 0 });
  });
});
