import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tierOfHost } from "../packages/holder/src/processes/cgroup.ts";
import { agentOnce, forever, isHeld, isOver, sh } from "./agent-once.ts";
import { makeFolder } from "./clean-up.ts";
import { endAgentsAfterwards } from "./end-agents.ts";
import { daemon, desk, holdForAll, isThere, spawnScript, whatIsLeft } from "./held-agents.ts";
import { crashAndReturn, typesOf } from "./ladder-agents.ts";
import { type Ended, program, runRouse, startProgram, startRouse } from "./run-rouse.ts";
import { startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

/** So that a second restart need not be waited for. */
const config = `
health_monitoring:
  restart: { cooldown_seconds: 600 }
  intervention: { termination: { grace_seconds: 2 } }
`;

holdForAll({ config });

/** Of `/proc/PID/stat`, or `null` when it is gone. */
function sessionOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
  } catch {
    return null;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these would act on a terminal
const actsOnATerminal = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

describe("a spawned agent", () => {
  it("goes on without the one who started it, in a session of its own, where and with what it was told", async () => {
    const end = await daemon.cli(
      ..."spawn --name worker --task t-1 --cwd / --env MODE=slow --env EMPTY= --env A=b=c --".split(" "),
      ...sh(`echo "$PWD $MODE <$EMPTY> $A $ROUSE_AGENT_ID $ROUSE_TASK_ID $ROUSE_INCARNATION"; stty size; ${forever}`),
    );
    expect(end).toMatchObject({ code: 0, stdout: expect.stringMatching(/^worker runs as process \d+\./), stderr: "" });
    const { terminal, taskId } = await agentOnce(daemon, "worker", "is held", isHeld);
    expect({ taskId, ...terminal }).toMatchObject({ taskId: "t-1", foreground: false, attached: 0 });
    const pid = terminal?.pid ?? 0;
    const { holder } = JSON.parse(readFileSync(join(daemon.home, "holders", "worker", "holder.json"), "utf8"));
    const sessions = [pid, holder.pid, daemon.process.pid, process.pid].map(sessionOf);
    expect(new Set(sessions).size).toBe(sessions.length - (sessions[2] === sessions[3] ? 1 : 0));
    await until("its output is kept", async () => (await daemon.cli("logs", "worker")).stdout.includes("40 120"));
    expect((await daemon.cli("logs", "worker")).stdout).toBe("/ slow <> b=c worker t-1 1\n40 120\n");
    expect(statSync(join(daemon.home, "holders", "worker", "spec.json")).mode & 0o777).toBe(0o600);
    expect(statSync(join(daemon.home, "holders", "worker")).mode & 0o777).toBe(0o700);
    await agentOnce(daemon, "worker", "was heard", ({ terminal: seen }) => seen?.lastOutput != null);
    const health = JSON.parse((await daemon.cli("health", "worker", "--json")).stdout);
    expect(Object.keys(health).slice(0, 4)).toEqual(["agent", "status", "last_output", "errors"]);
    expect(health).toMatchObject({ agent: "worker", status: "healthy", errors: [], terminal: { pid } });
    expect(Date.parse(health.last_output)).toBeGreaterThan(Date.now() - 600_000);
  });

  it("without a control group may leave one behind that hid, and nobody says otherwise", async ({ skip }) => {
    const withoutGroups = 'umount -l "$(sed -n "s/.* \\(\\/[^ ]*\\) .* - cgroup2 .*/\\1/p" /proc/self/mountinfo)"';
    const inNamespace = ["-m", "sh", "-c", `${withoutGroups} && exec "$@"`, "sh"];
    const isMarked = tierOfHost().tier === "marked";
    if (!isMarked && (await startProgram("unshare", [...inNamespace, "true"], daemon).ended).code !== 0)
      skip("control groups cannot be hidden from an agent here");
    const script = `
      while [ ! -e hide ]; do sleep 0.05; done
      ( setsid env -i PATH="$PATH" sh -c 'echo $$ > hidden; ${forever}' & )
      ${forever}`;
    const spawned = [process.execPath, program, ..."spawn --name escaper --json --".split(" "), ...sh(script)];
    const [command = "", ...args] = isMarked ? spawned : ["unshare", ...inNamespace, ...spawned];
    const started = await startProgram(command, args, daemon).ended;
    expect(JSON.parse(started.stdout)).toMatchObject({ tier: "marked" });
    await agentOnce(daemon, "escaper", "was looked at", ({ terminal }) => terminal?.processes != null);
    writeFileSync(join(desk, "hide"), "");
    const hidden = () => Number(existsSync(join(desk, "hidden")) && readFileSync(join(desk, "hidden"), "utf8"));
    await until("one has hidden", () => hidden() > 0);
    const end = await daemon.cli("terminate", "escaper");
    expect(end.stdout).toMatch(
      /^escaper .*; nothing of it was found any more \(one that hid on purpose is not found\)\.\n$/,
    );
    expect(isThere(hidden())).toBe(true);
    process.kill(hidden(), "SIGKILL");
  });

  it("is terminated with everything it started, own sessions and ignored signals included", async () => {
    const script = `
      setsid sh -c 'echo $$ > own-session; ${forever}' &
      sh -c 'trap "" TERM HUP; echo $$ > stubborn; ${forever}' &
      (sh -c 'echo $$ > orphan; ${forever}' &)
      ${forever}`;
    const pid = await spawnScript(daemon, "tree", script);
    const files = ["own-session", "stubborn", "orphan"].map((name) => join(desk, name));
    const read = (file: string): number => Number(existsSync(file) && readFileSync(file, "utf8"));
    await until("all of them run", () => files.every((file) => read(file) > 0));
    const pids = [pid, ...files.map(read)];
    const end = await daemon.cli("terminate", "tree", "--reason", "no longer needed");
    expect(end).toMatchObject({
      code: 0,
      stdout: `tree had to be ended by force; ${whatIsLeft}\n`,
      stderr: "",
    });
    expect(pids.filter(isThere)).toEqual([]);
    const agent = await agentOnce(daemon, "tree", "is terminated", ({ state }) => state === "TERMINATED");
    expect(agent.terminal?.exit).toMatchObject({ cause: "stopped" });
    const ended = await until("it is recorded", async () =>
      (await daemon.events("AGENT_TERMINATED")).find(
        ({ payload }) => (payload as { agentId: string }).agentId === "tree",
      ),
    );
    expect(ended.payload).toMatchObject({ because: "ordered", forced: true });
    expect(await typesOf(daemon, "tree")).toContain("TERMINATION_ORDERED");
    expect((await daemon.cli("health", "tree")).code).toBe(1);
    expect((await daemon.cli("ps", "--all")).stdout).toMatch(/tree +TERMINATED +–/);
  });

  it("is recovered: ended, and started again the same way as the next incarnation", async () => {
    const script = `echo "$PWD $MODE life $ROUSE_INCARNATION"; ${forever}`;
    const first = await spawnScript(daemon, "phoenix", script, "--cwd", "/tmp", "--env", "MODE=slow");
    const end = await daemon.cli("recover", "phoenix");
    expect(end).toMatchObject({ code: 0, stdout: "phoenix runs again, incarnation 2.\n", stderr: "" });
    expect(isThere(first)).toBe(false);
    const again = await agentOnce(daemon, "phoenix", "lives again", ({ incarnation }) => incarnation === 2);
    expect(again).toMatchObject({ state: "HEALTHY", terminal: { exit: null } });
    await until("both lives are in the logs", async () =>
      (await daemon.cli("logs", "phoenix")).stdout.endsWith("/tmp slow life 1\n/tmp slow life 2\n"),
    );
    expect(await typesOf(daemon, "phoenix")).toEqual(expect.arrayContaining(["AGENT_TERMINATED", "AGENT_RESTARTED"]));
    await daemon.cli("terminate", "phoenix");
    const revived = await daemon.cli("recover", "phoenix", "--json");
    expect(JSON.parse(revived.stdout)).toEqual({ agentId: "phoenix", outcome: "restarted", incarnation: 3 });
  });

  it("is started again when it fails, and left alone when it has finished", async () => {
    await spawnScript(
      daemon,
      "failing",
      `[ $ROUSE_INCARNATION = 1 ] && exit 1; echo better; ${forever}`,
      "--restart",
      "on-failure",
    );
    const agent = await agentOnce(daemon, "failing", "lives again", ({ incarnation }) => incarnation === 2);
    expect(agent.terminal).toMatchObject({ restarts: 1, exit: null });
    await until("it is well again", async () => (await typesOf(daemon, "failing")).includes("AGENT_RESTARTED"));
    const changes = (await daemon.rouse.events({ after: 0, limit: 100, agentId: "failing" })).filter(
      ({ type }) => type === "HEALTH_STATE_CHANGED",
    );
    expect(changes[0]?.payload).toMatchObject({ from: "HEALTHY", to: "UNRESPONSIVE" });
    expect(await typesOf(daemon, "failing")).toContain("RESTART_ORDERED");

    await spawnScript(daemon, "done", "echo fine; exit 0");
    const done = await agentOnce(daemon, "done", "is over", isOver);
    expect(done).toMatchObject({ state: "HEALTHY", activity: { kind: "FINISHED" }, incarnation: 1 });
    expect(await typesOf(daemon, "done")).toContain("AGENT_FINISHED");
    expect(await typesOf(daemon, "done")).not.toContain("RESTART_ORDERED");
  });

  it("ends no other as its owner, unless a person in its shell says so", async () => {
    const victim = await spawnScript(daemon, "victim", forever);
    const order = `${process.execPath} ${program} terminate victim`;
    const refused = `${order}; echo "ended with $?"; until [ -e person ]; do sleep 0.1; done`;
    await spawnScript(daemon, "meddler", `${refused}; unset ROUSE_URL ROUSE_TOKEN; ${order}; ${forever}`);
    const wrote = (words: string) => async () => (await daemon.cli("logs", "meddler")).stdout.includes(words);
    await until("it was refused", wrote("ended with 4"));
    expect(isThere(victim)).toBe(true);
    writeFileSync(join(desk, "person"), "");
    await until("the person is obeyed", wrote(`victim ended; ${whatIsLeft}`));
    expect(isThere(victim)).toBe(false);
  });

  it("that asks something needs you, until it is answered", async () => {
    await spawnScript(daemon, "asking", `printf 'Deploy to production? [y/N] '; read x; echo "answer $x"; ${forever}`);
    await agentOnce(daemon, "asking", "needs somebody", ({ terminal }) => terminal?.needsYou != null);
    expect((await daemon.cli("ps")).stdout).toMatch(/asking +HEALTHY +needs you/);
    expect((await daemon.cli("health", "asking")).stdout).toMatch(/needs you +to allow something/);
    expect((await daemon.cli("events", "--agent", "asking")).stdout).toContain("AGENT_NEEDS_YOU");
  });

  it("that is put off by its provider is waiting for it", async () => {
    await spawnScript(daemon, "limited", `echo 'HTTP 429 Too Many Requests'; ${forever}`);
    await agentOnce(daemon, "limited", "waits", ({ activity }) => activity.kind === "WAITING");
    expect((await daemon.cli("ps")).stdout).toMatch(/limited +HEALTHY +limit, tried again in (1m \d\d|\d+)s/);
    expect((await daemon.cli("health", "limited")).stdout).toContain("by its own words");
    expect((await typesOf(daemon, "limited")).filter((type) => type === "LIMIT_REACHED")).toHaveLength(1);
  });

  it("that ended at its limit is nobody's matter, and stays down when a person wants that", async () => {
    await spawnScript(
      daemon,
      "put-off",
      "echo 'Rate limit reached for x (TPM). Please try again in 2h.'; sleep 2; exit 1",
      "--task",
      "t-2",
    );
    await agentOnce(daemon, "put-off", "has ended", ({ terminal }) => terminal?.exit != null);
    expect((await daemon.cli("ps")).stdout).toMatch(/put-off +HEALTHY +limit, resets in (1h 59|2h 00)m/);
    const { stdout, code } = await daemon.cli("terminate", "put-off");
    expect({ stdout, code }).toMatchObject({ stdout: expect.stringContaining("will not be started again"), code: 0 });
    expect(await typesOf(daemon, "put-off")).toContain("RESTART_CANCELLED");
    expect(await typesOf(daemon, "put-off")).not.toContain("RESTART_ORDERED");
  });
});

describe("what an agent wrote", () => {
  it("is shown without anything that acts on a terminal, and as it is with --raw", async () => {
    const nasty = Buffer.from(
      "\u001b[2J\u001b]0;owned\u0007\u001b]52;c;ZXZpbA==\u0007error: \u001b[31mred\u001b[0m \u202eevil\r\n",
    );
    const garbage = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
    writeFileSync(join(desk, "nasty"), Buffer.concat([nasty, garbage, Buffer.from("\u0007\u001bc\nthe end\n")]));
    await spawnScript(daemon, "nasty", "stty -opost; cat nasty; exit 0");
    await agentOnce(daemon, "nasty", "is over", isOver);
    for (const words of [
      "logs nasty",
      "logs --json nasty",
      "logs -t nasty",
      "health nasty",
      "why nasty",
      "events --agent nasty",
    ]) {
      const { code, stdout, stderr } = await daemon.cli(...words.split(" "));
      expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
      expect(stdout).not.toMatch(actsOnATerminal);
    }
    const plain = (await daemon.cli("logs", "nasty")).stdout;
    expect(plain).toContain("error: red");
    expect(plain).toMatch(/the end\n$/);
    const raw = startRouse(["logs", "--raw", "nasty"], daemon);
    raw.child.stdout.setEncoding("latin1");
    expect((await raw.ended).stdout).toBe(readFileSync(join(desk, "nasty"), "latin1"));
  });

  it("is followed to its end, and can be had since a moment", async () => {
    await spawnScript(
      daemon,
      "talker",
      `echo one; until [ -e go ]; do sleep 0.1; done; printf '\\033[32mtwo\\033[0m\\n'; exit 0`,
    );
    const following = startRouse(["logs", "-f", "talker"], daemon);
    await until("the first line is there", () => following.stdout() === "one\n");
    const between = new Date().toISOString();
    writeFileSync(join(desk, "go"), "");
    expect(await following.ended).toMatchObject({
      code: 0,
      stdout: "one\ntwo\n",
      stderr: "rouse: talker has ended with 0\n",
    });
    expect((await daemon.cli("logs", "--since", between, "talker")).stdout).toContain("two\n");
    expect((await daemon.cli("logs", "--since", between, "talker")).stdout).not.toContain("one\n");
    expect((await daemon.cli("logs", "-n", "1", "--since", "1h", "talker")).stdout).toBe("two\n");
  });
});

describe("without a running Rouse", () => {
  it("agents are started, ended and started again all the same, and it is said that nobody watches", async () => {
    const home = join(makeFolder(), "home");
    endAgentsAfterwards(home);
    const rouse = (...words: string[]) => runRouse(words, { home });
    const spawned = await rouse("spawn", "--name", "lone", "--", ...sh(`echo life $ROUSE_INCARNATION; ${forever}`));
    expect(spawned).toMatchObject({ code: 0, stderr: expect.stringMatching(/^rouse: no Rouse is running[^\n]*\n$/) });
    const recovered = await rouse("recover", "lone");
    expect(recovered).toMatchObject({ code: 0, stdout: "lone runs again, incarnation 2.\n" });
    expect(await rouse("terminate", "lone")).toMatchObject({ code: 0, stdout: `lone ended; ${whatIsLeft}\n` });
    expect(await rouse("terminate", "lone")).toMatchObject({ code: 0, stdout: "lone was over already.\n" });
    await until("its holder left", () => !existsSync(join(home, "holders", "lone", "socket")));
    expect(await rouse("terminate", "lone")).toMatchObject({ code: 0, stdout: "lone was over already.\n" });
    expect(await rouse("recover", "lone")).toMatchObject({ code: 0, stdout: "lone runs again, incarnation 3.\n" });
    expect((await rouse("logs", "lone")).stdout).toMatch(/^life 1\nlife 2\n/);
    const unknown = await rouse("terminate", "nobody");
    expect(unknown.code).toBe(5);
    expect(unknown.stderr).toContain("no agent nobody was started here");
  });

  it("an agent keeps its owner's rule against idling: found by a Rouse that comes later, started again, found once more", async () => {
    const home = join(makeFolder(), "home");
    endAgentsAfterwards(home);
    const words = ["spawn", "--name", "ruled", "--idle-kill", "30m", "--", ...sh(forever)];
    const { stdout } = await runRouse(words, { home });
    expect(stdout).toContain("ruled will be stopped after 30 min without any sign of work, because you said so.\n");
    const first = await startDaemon({ home });
    const found = await agentOnce(first, "ruled", "is found", isHeld);
    expect(found).toMatchObject({ incarnation: 1, terminal: { idleKillSeconds: 1800 } });
    await first.cli("recover", "ruled");
    const again = await agentOnce(first, "ruled", "lives again", ({ incarnation }) => incarnation === 2);
    expect(again.terminal).toMatchObject({ idleKillSeconds: 1800, exit: null });
    const second = await crashAndReturn(first);
    await agentOnce(second, "ruled", "is found again", ({ terminal }) => terminal?.holder === "here");
    expect((await second.cli("health", "ruled")).stdout).toMatch(
      /owner's rule +stopped after 30 min without any sign of work/,
    );
  });
});

describe("an order that makes no sense", () => {
  const expectSentence = ({ stdout, stderr }: Ended, words: RegExp): void => {
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^rouse: [^\n]+\n$/);
    expect(stderr).toMatch(words);
  };

  it.each([
    ["a command that is not there", 2, "spawn --name void -- no-such-command", /no-such-command.*not found/],
    ["a file that may not be run", 2, "spawn --name void -- /etc/passwd", /passwd.*not executable/],
    ["a folder that is not there", 2, "spawn --name void --cwd /no/such/folder -- true", /working folder \/no\/such/],
    ["a variable without a value", 2, "spawn --name void --env MODE -- true", /NAME=VALUE/],
    ["a policy that is not there", 2, "spawn --name void --health-policy flet -- true", /policy.*flet.*fleet/],
    ["a rule without a time", 2, "spawn --name void --idle-kill soon -- true", /idle-kill.*Expected a duration/],
    ["a rule that would end it at once", 2, "spawn --name void --idle-kill 0 -- true", /idle-kill.*from 1s to 30d/],
    ["a restart that is none", 2, "spawn --name void --restart often -- true", /--restart.*on-failure:N/],
    ["no restart by another name", 2, "spawn --name void --restart on-failure:0 -- true", /--restart.*1 to 1000/],
    ["two policies", 2, "spawn --name void --policy fleet --health-policy fleet -- true", /give one/],
    ["no name", 2, "spawn -- true", /--name/],
    ["a name that nobody can have", 2, "spawn --name a/b -- true", /--name/],
    ["an agent that nobody knows", 5, "terminate void", /no agent void is known/],
    ["an agent that nobody knows, to start again", 5, "recover void", /no agent void is known/],
  ])("is refused with a sentence and leaves nothing behind: %s", async (_, code, words, sentence) => {
    const end = await daemon.cli(...words.split(" "));
    expect(end.code).toBe(code);
    expectSentence(end, sentence);
    expect(existsSync(join(daemon.home, "holders", "void"))).toBe(false);
  });

  it("is refused for a name that is taken, and for an agent that Rouse did not start", async () => {
    const taken = await daemon.cli("spawn", "--name", "asking", "--", "true");
    expect(taken.code).toBe(7);
    expectSentence(taken, /asking is already running/);
    await daemon.rouse.recordHeartbeat({ agentId: "beating", status: "RUNNING" });
    const beating = await daemon.cli("spawn", "--name", "beating", "--", "true");
    expect(beating.code).toBe(7);
    expectSentence(beating, /beating.*heartbeats/);
    const foreign = await daemon.cli("terminate", "beating");
    expect(foreign.code).toBe(1);
    expectSentence(foreign, /was not started by/);
    expect(existsSync(join(daemon.home, "holders", "beating"))).toBe(false);
  });
});
