import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { endAgentsAfterwards, processesOf } from "./end-agents.ts";
import { agentLives, holderOf, outputOf, spawnAgent } from "./held-agents.ts";
import { openRouse, openTerminal } from "./open-terminal.ts";
import { runRouse, typedRouse } from "./run-rouse.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

const question = "No Rouse is running. Start one in the background? [Y/n] ";

/** A data folder of its own with any free port; whatever runs with it ends with the test. */
function newPlace() {
  const home = join(makeFolder(), "home");
  endAgentsAfterwards(home);
  const surroundings = { home, environment: { ROUSE_PORT: "0" } };
  return {
    home,
    open: (...words: string[]) => openRouse(words, surroundings),
    openShell: (line: string) => openTerminal("sh", ["-c", line], surroundings),
    rouse: (...words: string[]) => runRouse(words, surroundings),
    runs: async () => (await runRouse(["status"], surroundings)).code === 0,
  };
}

describe("an agent that is started in a terminal where no Rouse runs", () => {
  it("is watched by one that is started first, when its person says nothing but Enter; its keyboard is its own", async () => {
    const { open, rouse, runs } = newPlace();
    const terminal = open("run", "--name", "ada", "--", "sh", "-c", "echo here; read line; echo got $line; exit 7");
    await terminal.shows(question);
    terminal.type("\r");
    await terminal.shows("here");
    expect(terminal.text()).toContain("Rouse is watching on");
    expect(await runs()).toBe(true);
    await until("it is known", async () => (await rouse("health", "ada")).code === 0);
    terminal.type("words\r");
    await terminal.shows("got words");
    expect(await terminal.ended).toMatchObject({ code: 7 });
    expect(terminal.text().match(/\[Y\/n\]/g)).toHaveLength(1);
    const again = open("run", "--", "true");
    await again.ended;
    expect(again.text()).not.toContain("[Y/n]");
  });

  it("runs all the same after a no, and it is said that nobody watches", async () => {
    const { home, open, runs } = newPlace();
    const terminal = open("run", "--", "sh", "-c", "echo here; exit 3");
    await terminal.shows(question);
    terminal.type("what?\r");
    await terminal.shows(question, terminal.text().indexOf(question) + question.length);
    terminal.type("n\r");
    expect(await terminal.ended).toMatchObject({ code: 3 });
    expect(terminal.text()).toMatch(/nobody watches yet; `rouse up -d` .*here/s);
    expect(await runs()).toBe(false);
    expect(processesOf(home)).toEqual([]);
  });

  it.each(["run", "spawn"])("is not started at all when Ctrl-C answers the question of `rouse %s`", async (word) => {
    const { home, open, runs } = newPlace();
    const terminal = open(word, "--name", "ada", "--", "sh", "-c", "echo here; exec sleep 1000");
    await terminal.shows(question);
    terminal.type("\x03");
    const { code, signal } = await terminal.ended;
    expect(code === 130 || signal === 2).toBe(true);
    expect(terminal.text()).not.toContain("here");
    expect(await runs()).toBe(false);
    expect(existsSync(join(home, "holders", "ada"))).toBe(false);
  });

  it("is asked for in the background as well, and is known when the command ends", async () => {
    const { home, open, rouse } = newPlace();
    const terminal = open("spawn", "--name", "ada", "--", "sleep", "1000");
    await terminal.shows(question);
    terminal.type("yes\r");
    expect(await terminal.ended).toMatchObject({ code: 0 });
    expect(terminal.text()).toContain("runs as process");
    expect(terminal.text()).not.toContain("nobody watches");
    expect((await rouse("health", "ada")).code).toBe(0);
    expect(agentLives(holderOf(home, "ada"))).toBe(true);
  });

  it("is told of a mistake in its own command before anybody is asked", async () => {
    const { open, runs } = newPlace();
    const terminal = open("run", "--", "no-such-program-here");
    expect(await terminal.ended).toMatchObject({ code: 127 });
    expect(terminal.text()).not.toContain("[Y/n]");
    expect(await runs()).toBe(false);
  });

  it("is not started when the Rouse that was wanted cannot start", async () => {
    const { home } = newPlace();
    const environment = { ROUSE_PORT: "0", RESTART_COOLDOWN: "soon" };
    const terminal = openRouse(["run", "--", "echo", "begun"], { home, environment });
    await terminal.shows(question);
    terminal.type("\r");
    expect(await terminal.ended).toMatchObject({ code: 2 });
    expect(terminal.text()).toMatch(/rouse: .*RESTART_COOLDOWN/);
    expect(terminal.text()).not.toContain("begun");
  });
});

describe("nobody is asked", () => {
  it("where there is no terminal: the agent starts, and it is said how to have it watched", async () => {
    const { rouse, runs } = newPlace();
    const ran = await rouse("run", "--", "echo", "here");
    expect(ran).toMatchObject({ code: 0, stdout: "here\n" });
    expect(ran.stderr).toBe("rouse: no Rouse is running, so nobody watches yet; `rouse up -d` picks this agent up\n");
    const spawned = await rouse("spawn", "--name", "ada", "--", "sleep", "1000");
    expect(spawned.stderr).toBe(ran.stderr);
    expect(await runs()).toBe(false);
  });

  it("when only a part of the terminal is one: somebody may be waiting for the output", async () => {
    const { openShell, runs } = newPlace();
    const terminal = openShell(
      `${typedRouse} run -- echo here | cat; ${typedRouse} spawn --json --name ada -- sleep 1000`,
    );
    await terminal.ended;
    expect(terminal.text()).not.toContain("[Y/n]");
    expect(terminal.text()).toContain("here");
    expect(await runs()).toBe(false);
  });

  it("with --daemon, which starts one, and with --no-daemon, which does not", async () => {
    const { home, open, rouse, runs } = newPlace();
    const without = open("run", "--no-daemon", "--", "echo", "here");
    expect(await without.ended).toMatchObject({ code: 0 });
    expect(without.text()).toContain("nobody watches");
    expect(without.text()).not.toContain("[Y/n]");
    expect(await runs()).toBe(false);
    const spawned = await rouse("spawn", "--daemon", "--json", "--name", "ada", "--", "sleep", "1000");
    expect(spawned).toMatchObject({ code: 0, stderr: expect.stringContaining("Rouse is watching on") });
    expect(JSON.parse(spawned.stdout)).toMatchObject({ agentId: "ada", watched: true });
    expect(await runs()).toBe(true);
    const [daemon] = processesOf(home);
    expect((await rouse("run", "--daemon", "--", "true")).stderr).toBe("");
    expect(processesOf(home)).toContain(daemon);
  });

  it("inside an agent, which has a terminal but no person, and which cannot start one either", async () => {
    const { home, runs } = newPlace();
    const script = [
      `${typedRouse} run --name inner -- echo here; echo first $?`,
      `${typedRouse} run --daemon --name inner -- echo here; echo second $?`,
      `unset ROUSE_URL; ${typedRouse} run --name inner -- echo here; echo third $?`,
      "exec sleep 1000",
    ];
    await spawnAgent(home, "outer", ["sh", "-c", script.join("\n")]);
    await until("the last one ran", () => outputOf(home, "outer").text.includes("third 0"));
    const { text } = outputOf(home, "outer");
    expect(text).not.toContain("[Y/n]");
    expect(text).toMatch(/nobody watches.*first 0.*would end with that agent.*second 4.*nobody watches/s);
    expect(await runs()).toBe(false);
  });

  it("where ROUSE_URL names a Rouse at another place, which is not ours to start", async () => {
    const { home } = newPlace();
    const surroundings = { home, environment: { ROUSE_URL: "http://127.0.0.1:1", ROUSE_TOKEN: "t".repeat(40) } };
    const terminal = openRouse(["run", "--", "echo", "here"], surroundings);
    expect(await terminal.ended).toMatchObject({ code: 0 });
    expect(terminal.text()).not.toContain("[Y/n]");
    const told = await runRouse(["run", "--daemon", "--", "echo", "here"], surroundings);
    expect(told).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("ROUSE_URL names") });
  });
});
