import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RouseEvent } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { agentOnce, forever, isHeld, isOver, sh } from "./agent-once.ts";
import { makeFolder } from "./clean-up.ts";
import { endAgentsAfterwards, processesOf } from "./end-agents.ts";
import { daemon, desk, holdForAll } from "./held-agents.ts";
import { openRouse, openTerminal } from "./open-terminal.ts";
import { type Ended, startProgram, startRouse, typedRouse } from "./run-rouse.ts";
import { startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

holdForAll();

const run = (...words: string[]) => openRouse(["run", ...words], daemon);
/** A line typed into a shell in a terminal. */
const typed = (line: string) => openTerminal("bash", ["--norc", "-c", line], daemon);
const nameless = (agentId: string): boolean => !existsSync(join(daemon.home, "holders", agentId));

describe("a command under rouse run in a terminal", () => {
  it("is talked to, fits the window, also when that changes, and its exit code is passed on", async () => {
    const terminal = run(
      "--",
      ...sh(
        `read x; echo got $x; stty size; until [ "$(stty size)" = "20 70" ]; do sleep 0.1; done; echo fits; exit 7`,
      ),
    );
    terminal.type("hello\r");
    await terminal.shows("got hello\r\n30 100\r\n");
    terminal.resize(70, 20);
    await terminal.shows("fits");
    expect(await terminal.ended).toEqual({ code: 7, signal: 0 });
  });

  it("hears Ctrl-C as in any terminal, and its death by a signal is told as shells tell it", async () => {
    const trapping = run("--", ...sh(`trap 'echo caught; exit 3' INT; echo ready; ${forever}`));
    await trapping.shows("ready");
    trapping.type("\x03");
    await trapping.shows("caught");
    expect((await trapping.ended).code).toBe(3);
    const dying = run("--", ...sh("kill -KILL $$"));
    expect((await dying.ended).code).toBe(137);
  });

  it("gets every key, those too that mean something to terminals, Rouse or attach", async () => {
    const terminal = run("--", ...sh("stty raw -echo; echo ready; head -c 9 | od -An -tx1; stty sane; exit 0"));
    await terminal.shows("ready");
    terminal.type("\x03\x04\x11\x13\x1a\x1c\x1dd\x7f");
    await terminal.shows("03 04 11 13 1a 1c 1d 64 7f");
    expect((await terminal.ended).code).toBe(0);
  });

  it("writes colours and any other bytes as if nobody were in between", async () => {
    const bytes = Buffer.concat([
      Buffer.from("\x1b[1;31mred\x1b[0m ünï \x1b]0;title\x07"),
      Buffer.from(Array.from({ length: 256 }, (_, n) => n)),
      randomBytes(100_000),
    ]);
    writeFileSync(join(desk, "bytes"), bytes);
    const terminal = run("--", ...sh("stty -opost; cat bytes"));
    expect((await terminal.ended).code).toBe(0);
    expect(terminal.bytes().equals(bytes)).toBe(true);
  });

  it("may be vim: the file is written, and the terminal is left as it was found", async () => {
    const terminal = typed(
      `stty -a > before; ${typedRouse} run --name editor -- vim -u NONE -N notes.txt; echo "code $?"; stty -a > after`,
    );
    await terminal.shows("notes.txt");
    terminal.type("ihello from vim");
    await until("vim shows it", async () => (await terminal.screen())[0] === "hello from vim");
    terminal.type("\x1b:wq\r");
    await terminal.ended;
    expect(readFileSync(join(desk, "notes.txt"), "utf8")).toBe("hello from vim\n");
    expect(readFileSync(join(desk, "after"), "utf8")).toBe(readFileSync(join(desk, "before"), "utf8"));
    expect((await terminal.screen()).filter((line) => line !== "")).toEqual(["code 0"]);
    expect(await agentOnce(daemon, "editor", "is over", isOver)).toMatchObject({
      state: "HEALTHY",
      activity: { kind: "FINISHED" },
      terminal: { foreground: true, exit: { code: 0, cause: "by-itself" } },
    });
  });

  it("leaves a usable terminal when it is killed in the middle of a full screen", async () => {
    const terminal = typed(
      `stty -a > before; ${typedRouse} run -- sh -c 'stty raw -echo; printf "\\033[?1049h\\033[?25l\\033[31mfull"; kill -9 $$'; echo "code $?"; stty -a > after`,
    );
    await terminal.ended;
    expect(readFileSync(join(desk, "after"), "utf8")).toBe(readFileSync(join(desk, "before"), "utf8"));
    expect((await terminal.screen()).filter((line) => line !== "")).toEqual(["code 137"]);
    expect(terminal.text()).toContain("\x1b[?25h");
  });

  it("may be a Python script that asks something, and Rouse knows that somebody is there", async () => {
    const script = "name = input('What is your name? '); print('Hello', name)";
    const terminal = run("--name", "snake", "--", "python3", "-c", script);
    await terminal.shows("your name? ");
    const agent = await agentOnce(daemon, "snake", "is held", isHeld);
    expect(agent.terminal).toMatchObject({ foreground: true, attached: 1, exit: null });
    terminal.type("Ada\r");
    await terminal.shows("Hello Ada");
    expect((await terminal.ended).code).toBe(0);
  });

  it("is hung up on when its window is closed, and how it ended is known", async () => {
    const terminal = run(
      "--name",
      "closed",
      "--",
      ...sh(`trap 'echo bye > farewell; exit 4' HUP; echo ready; ${forever}`),
    );
    await terminal.shows("ready");
    await agentOnce(daemon, "closed", "is held", isHeld);
    terminal.close();
    const { terminal: seen } = await agentOnce(daemon, "closed", "is over", isOver);
    expect(seen?.exit).toMatchObject({ code: 4, signal: null, cause: "person" });
    expect(readFileSync(join(desk, "farewell"), "utf8")).toBe("bye\n");
  });

  it("that ends and leaves a process at work gives the terminal back, and has not finished", async () => {
    const leaves = run("--name", "leaver", "--", ...sh(`trap '' HUP; (${forever}) & exit 0`));
    expect(await leaves.ended).toMatchObject({ code: 0 });
    const left = await agentOnce(daemon, "leaver", "is over", isOver);
    expect(left).toMatchObject({ state: "HEALTHY", terminal: { exit: { code: 0 } } });
    expect(left.terminal?.leftovers?.length).toBeGreaterThan(0);
    expect(left.activity.kind).not.toBe("FINISHED");
    expect((await daemon.cli("ps")).stdout).toMatch(/leaver .*exited 0, left \d process/);
    expect(await daemon.cli("terminate", "leaver")).toMatchObject({ code: 0 });
    expect((await daemon.cli("ps", "--all")).stdout).not.toContain("left");
  });

  it("that fails and leaves a process at work has failed for a script that asks for its health", async () => {
    const leaves = run("--name", "failed", "--", ...sh(`trap '' HUP; (${forever}) & exit 7`));
    expect(await leaves.ended).toMatchObject({ code: 7 });
    const left = await agentOnce(daemon, "failed", "is over", isOver);
    expect(left.terminal?.leftovers?.length).toBeGreaterThan(0);
    expect(await daemon.cli("health", "failed")).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^status +exited 7$/m),
    });
    expect(await daemon.cli("terminate", "failed")).toMatchObject({ code: 0 });
  });

  it("has finished once what it left is gone, though nobody stayed with that", async () => {
    const waits = "until [ -e go ]; do sleep 0.1; done";
    const leaves = run("--name", "patient", "--", ...sh(`trap '' HUP; read x; (${waits}) & exit 0`));
    await agentOnce(daemon, "patient", "is held", isHeld);
    leaves.type("\r");
    expect(await leaves.ended).toMatchObject({ code: 0 });
    const left = await agentOnce(daemon, "patient", "is over", isOver);
    expect(left.terminal?.leftovers?.length).toBeGreaterThan(0);
    expect(left.activity.kind).not.toBe("FINISHED");
    writeFileSync(join(desk, "go"), "");
    const done = await agentOnce(daemon, "patient", "has finished", ({ activity }) => activity.kind === "FINISHED");
    expect(done.terminal?.leftovers).toBeUndefined();
    expect((await daemon.cli("ps", "--all")).stdout).toMatch(/patient +FINISHED +–/);
  });

  it("is told of a SIGTERM that was meant for rouse run", async () => {
    const terminal = run("--name", "told", "--", ...sh(`trap 'echo told; exit 9' TERM; echo ready; ${forever}`));
    await terminal.shows("ready");
    process.kill(terminal.pid, "SIGTERM");
    await terminal.shows("told");
    expect((await terminal.ended).code).toBe(9);
  });

  it("is called by its command and a number when nobody names it, and two at once have two names", async () => {
    const [one, two] = [run("--", "tail", "-f", "/dev/null"), run("--", "tail", "-f", "/dev/null")];
    await agentOnce(daemon, "tail-1", "is held", isHeld);
    await agentOnce(daemon, "tail-2", "is held", isHeld);
    for (const terminal of [one, two]) {
      terminal.type("\x03");
      expect((await terminal.ended).code).toBe(130);
    }
    const { terminal } = await agentOnce(daemon, "tail-1", "is over", isOver);
    expect(terminal?.exit).toMatchObject({ signal: "SIGINT", cause: "person" });
  });
});

describe("a command that nobody named", () => {
  it("does not take the name of an agent that sends heartbeats", async () => {
    await daemon.rouse.recordHeartbeat({ agentId: "true-1", status: "RUNNING" });
    expect(await daemon.cli("run", "--", "true")).toMatchObject({ code: 0, stderr: "" });
    await agentOnce(daemon, "true-2", "is over", isOver);
  });
});

describe("a command under rouse run in a pipe", () => {
  it("reads and writes five million random bytes unchanged, with its errors apart and its exit code its own", async () => {
    const bytes = randomBytes(5_000_000);
    writeFileSync(join(desk, "in"), bytes);
    const line = `cat in | ${typedRouse} run -- sh -c 'cat; echo problem >&2; exit 6' 2> err | cat > out; echo \${PIPESTATUS[1]}`;
    const { stdout } = await startProgram("bash", ["-c", line], daemon).ended;
    expect(stdout).toBe("6\n");
    expect(readFileSync(join(desk, "out")).equals(bytes)).toBe(true);
    expect(readFileSync(join(desk, "err"), "utf8")).toBe("problem\n");
  });

  it("is told of signals, and of a reader who left", async () => {
    const running = startRouse(["run", "--", ...sh(`trap 'exit 5' TERM; echo ready; ${forever}`)], daemon);
    await until("it runs", () => running.stdout() === "ready\n");
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(5);
    const left = startProgram("bash", ["-c", `${typedRouse} run -- yes | head -n 2; echo \${PIPESTATUS[0]}`], daemon);
    expect((await left.ended).stdout).toBe("y\ny\n129\n");
  });
});

describe("a command that runs before Rouse does", () => {
  it("is not kept waiting, and is known with all it did as soon as Rouse is there", async () => {
    const home = join(makeFolder(), "home");
    const early = startRouse(["run", "--name", "early", "--", ...sh("echo over soon; exit 8")], { home });
    const lone = startRouse(
      ["run", "--name", "lone", "--", ...sh(`trap 'echo bye; exit 5' USR1; echo ready; ${forever}`)],
      {
        home,
      },
    );
    endAgentsAfterwards(home);
    expect(await early.ended).toMatchObject({ code: 8, stdout: "over soon\n" });
    await until("it runs", () => lone.stdout() === "ready\n");
    const later = await startDaemon({ home });
    const agent = await agentOnce(later, "lone", "has written", ({ terminal }) => terminal?.outputBytes === 6);
    expect(agent).toMatchObject({ state: "HEALTHY", terminal: { exit: null } });
    expect((await later.cli("ps")).stdout).toMatch(/lone +HEALTHY +RUNNING/);
    lone.child.kill("SIGUSR1");
    const { code, stderr } = await lone.ended;
    expect(code).toBe(5);
    expect(stderr).toMatch(/^rouse: no Rouse is running[^\n]*`rouse up -d`[^\n]*\n$/);
    const over = await agentOnce(later, "lone", "is over", isOver);
    expect(over.terminal).toMatchObject({ exit: { code: 5 }, outputBytes: 10 });
    const gone = await agentOnce(later, "early", "is known", isOver);
    expect(gone).toMatchObject({ state: "HEALTHY", terminal: { exit: { code: 8 } } });
  });
});

describe("what a command is given", () => {
  it("is who it is and a token that speaks for it and for nobody else", async () => {
    const script = `
      const { ROUSE_URL: url, ROUSE_TOKEN: token, ROUSE_AGENT_ID: agentId, ROUSE_TASK_ID: taskId, ROUSE_INCARNATION } = process.env;
      const beat = (body) => fetch(url + "/api/v1/heartbeats", { method: "POST", body: JSON.stringify(body),
        headers: { "content-type": "application/json", authorization: "Bearer " + token } }).then(({ status }) => status);
      const own = await beat({ agentId, taskId, status: "RUNNING", tokenCount: 42 });
      const others = await beat({ agentId: "victim", status: "FINISHED" });
      console.log(JSON.stringify({ url, agentId, taskId, ROUSE_INCARNATION, own, others }));`;
    const words = ["--name", "teller", "--task", "t-9", "--", process.execPath, "--input-type=module", "-e", script];
    const { code, stdout } = await startRouse(["run", ...words], daemon).ended;
    expect({ code, ...JSON.parse(stdout) }).toEqual({
      code: 0,
      url: daemon.url,
      agentId: "teller",
      taskId: "t-9",
      ROUSE_INCARNATION: "1",
      own: 200,
      others: 403,
    });
    expect(await agentOnce(daemon, "teller", "has beaten", ({ metrics }) => metrics.tokenCount === 42)).toMatchObject({
      taskId: "t-9",
    });
    const refused = await until("it is recorded", async () => (await daemon.events("AGENT_SPEECH_REFUSED"))[0]);
    expect((refused as RouseEvent).payload).toEqual({ agentId: "teller", claimed: "victim", because: "other-agent" });
  });

  it("lets it ask Rouse itself, and start others with Rouse", async () => {
    const inner = `${typedRouse} run --name inner -- sh -c 'echo $ROUSE_AGENT_ID'`;
    const { code, stdout, stderr } = await startRouse(["run", "--name", "outer", "--", ...sh(inner)], daemon).ended;
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "inner\n", stderr: "" });
    expect(await agentOnce(daemon, "inner", "is over", isOver)).toMatchObject({ activity: { kind: "FINISHED" } });
  });
});

describe("a command that cannot be run", () => {
  const expectSentence = ({ stdout, stderr }: Ended, words: RegExp): void => {
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^rouse: [^\n]+\n$/);
    expect(stderr).toMatch(words);
  };

  it("ends as in a shell, 127 when it is not there and 126 when it may not be run, and leaves nothing behind", async () => {
    writeFileSync(join(desk, "plain.txt"), "no program");
    const missing = await daemon.cli("run", "--name", "void", "--", "no-such-command");
    expect(missing.code).toBe(127);
    expectSentence(missing, /no-such-command.*not found/);
    const plain = await daemon.cli("run", "--name", "void", "--", "./plain.txt");
    expect(plain.code).toBe(126);
    expectSentence(plain, /plain\.txt.*not executable/);
    expect(nameless("void")).toBe(true);
  });

  it("says that its working folder is gone", async () => {
    const line = `mkdir gone; cd gone; rmdir ../gone; ${typedRouse} run --name homeless -- true`;
    const end = await startProgram("bash", ["-c", line], daemon).ended;
    expect(end.code).toBe(2);
    expectSentence(end, /working folder/);
    expect(nameless("homeless")).toBe(true);
  });

  it.each([
    ["a name nobody can have", ["--name", "no/such name"], /--name/],
    ["a name of the monitor's own", ["--name", "rouse.self"], /--name/],
    ["a policy that is not there", ["--name", "void", "--policy", "flet"], /--policy.*flet.*fleet/],
    ["a task nobody can have", ["--name", "void", "--task", ""], /--task/],
    ["an option that is not there", ["--nmae", "void"], /nmae/],
  ])("says what is wrong with %s", async (_, words, expected) => {
    const end = await daemon.cli("run", ...words, "--", "true");
    expect(end.code).toBe(2);
    expect(end.stdout).toBe("");
    expect(end.stderr).toMatch(expected);
    expect(nameless("void")).toBe(true);
  });

  it("may not take the name of one that runs, nor of one that sends heartbeats", async () => {
    const first = startRouse(["run", "--name", "taken", "--", ...sh(`echo ready; ${forever}`)], daemon);
    await until("it runs", () => first.stdout() === "ready\n");
    const second = await daemon.cli("run", "--name", "taken", "--", "echo", "never");
    expect(second.code).toBe(7);
    expectSentence(second, /taken is already running/);
    first.child.kill("SIGTERM");
    expect((await first.ended).code).toBe(143);
    await daemon.rouse.recordHeartbeat({ agentId: "beating", status: "RUNNING" });
    const third = await daemon.cli("run", "--name", "beating", "--", "echo", "never");
    expect(third.code).toBe(7);
    expectSentence(third, /beating.*heartbeats/);
    expect(nameless("beating")).toBe(true);
  });
});

describe("Claude Code in its stream mode", () => {
  it("is read from the stream: session, tools, and for how long its provider put it off", async () => {
    const folder = join(desk, "bin");
    mkdirSync(folder);
    const resetsAt = Math.floor(Date.now() / 1000) + 3600;
    const line = (fields: object) => JSON.stringify({ session_id: "s-1", ...fields });
    const says = (content: object[]) =>
      line({ type: "assistant", message: { id: "m-1", content, usage: { input_tokens: 100, output_tokens: 20 } } });
    const lines = [
      line({ type: "system", subtype: "init", model: "claude-x", tools: [], claude_code_version: "2.1.0" }),
      says([{ type: "tool_use", id: "t-1", name: "Bash", input: { command: "npm test" } }]),
      line({
        type: "user",
        message: { role: "user", content: [{ type: "tool_result", tool_use_id: "t-1", content: "ok" }] },
      }),
      "not JSON at all",
      line({ type: "rate_limit_event", rate_limit_info: { status: "rejected", resetsAt } }),
    ];
    const result = line({
      type: "result",
      subtype: "success",
      is_error: false,
      usage: { input_tokens: 100, output_tokens: 30 },
    });
    writeFileSync(
      join(folder, "claude"),
      `#!/bin/sh\ncat <<'END'\n${lines.join("\n")}\nEND\nread go\ncat <<'END'\n${result}\nEND\n`,
    );
    chmodSync(join(folder, "claude"), 0o755);
    const environment = { PATH: `${folder}:${process.env["PATH"]}` };
    const words = [
      "run",
      "--name",
      "streamer",
      "--",
      "claude",
      "-p",
      "x",
      "--output-format",
      "stream-json",
      "--verbose",
    ];
    const terminal = openRouse(words, { home: daemon.home, environment });
    const agent = await agentOnce(daemon, "streamer", "waits", ({ activity }) => activity.kind === "WAITING");
    expect(agent).toMatchObject({
      activity: { kind: "WAITING", for: "provider" },
      metrics: { toolCallCount: 1, tokenCount: 120 },
      terminal: { family: "claude-code", structured: true, session: { id: "s-1", model: "claude-x" } },
    });
    const health = JSON.parse((await daemon.cli("health", "streamer", "--json")).stdout);
    expect(health).toMatchObject({ agent: "streamer", status: "healthy", terminal: { session: { id: "s-1" } } });
    terminal.type("\r");
    expect((await terminal.ended).code).toBe(0);
    expect(terminal.text()).toContain('"rate_limit_event"');
    const over = await agentOnce(daemon, "streamer", "is over", isOver);
    expect(over).toMatchObject({ activity: { kind: "FINISHED" }, metrics: { tokenCount: 130 } });
  });
});

it("leaves nothing running, and what it keeps is for its owner alone", async () => {
  await until("only the daemon is left", () => processesOf(daemon.home).every((pid) => pid === daemon.process.pid));
  const folder = join(daemon.home, "holders", "editor");
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o077).toBe(0);
});
