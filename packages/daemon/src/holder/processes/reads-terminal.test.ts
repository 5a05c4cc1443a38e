import { spawnSync } from "node:child_process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AgentProcess } from "../agent-process.ts";
import { openTerminal } from "../open-terminal.ts";
import { readProcess } from "./read-processes.ts";
import { readsTerminal } from "./reads-terminal.ts";
import {
  killHard,
  type Nursery,
  onLinux,
  openNursery,
  patient,
  rootOf,
  startAgent,
  until,
} from "./real-processes.test-support.ts";
import { createTreeWatch } from "./watch-tree.ts";

const isHere = (command: string): boolean => spawnSync("sh", ["-c", `command -v ${command}`]).status === 0;

describe.skipIf(!onLinux)("a read of the terminal", patient, () => {
  let nursery: Nursery;
  let agent: AgentProcess | null;
  let output: string;
  beforeEach(() => {
    nursery = openNursery();
    agent = null;
    output = "";
  });
  afterEach(() => {
    if (agent !== null) killHard(agent.pid);
    nursery.clear();
  });

  function start(...command: string[]) {
    const env = { PATH: process.env["PATH"] ?? "", TERM: "xterm", ROUSE_MARK: nursery.token };
    const ears = {
      wrote(_: unknown, bytes: Buffer) {
        output += bytes.toString();
      },
      ended() {},
    };
    const begin = { command, cwd: nursery.folder, env, cols: 80, rows: 24, spawnInside: <T>(fork: () => T) => fork() };
    agent = openTerminal(begin, ears);
    return createTreeWatch(rootOf(agent, nursery.token));
  }

  const questions: Record<string, string[]> = {
    "a shell's question": ["bash", "-c", "read -p 'Datei ueberschreiben? ' x; echo $x"],
    "a question of Python": ["python3", "-c", "input('go on? ')"],
    "a program that copies what is typed": ["cat"],
    "a shell that edits its line": ["bash", "--norc", "--noprofile", "-i"],
    "a child that asks": ["bash", "-c", "echo before; bash -c 'read x'; echo after"],
    "a question on /dev/tty": ["bash", "-c", "read x < /dev/tty; echo after"],
    "a thread that asks": [
      "python3",
      "-c",
      "import os, threading, time; threading.Thread(target=os.read, args=(0, 1)).start(); time.sleep(1000)",
    ],
  };
  it.for(Object.entries(questions))("is seen: %s", async ([, command], { skip }) => {
    if (!isHere(command[0] ?? "")) skip(`${command[0]} is not here`);
    const watch = start(...command);
    await until(() => watch.facts().readsTerminal === true, "it reads");
  });

  const others: Record<string, [command: string[], begun: string]> = {
    "one that sleeps": [["sh", "-c", "echo begun; sleep 1000; true"], "begun"],
    "one that reads a pipe": [["sh", "-c", "echo begun; sleep 1000 | cat"], "begun"],
    "one that waits for a while only": [
      ["python3", "-c", "import select; print('begun', flush=True); select.select([0], [], [], 1000)"],
      "begun",
    ],
    "a busy one": [["node", "-e", "console.log('begun'); for (;;);"], "begun"],
  };
  it.for(Object.entries(others))("is not seen in %s", async ([, [command, begun]], { skip }) => {
    if (!isHere(command[0] ?? "")) skip(`${command[0]} is not here`);
    const watch = start(...command);
    await until(() => output.includes(begun), "it has begun");
    expect(watch.facts().readsTerminal).toBe(false);
  });

  it("of a terminal inside the agent's is none of the agent's", async ({ skip }) => {
    if (!isHere("python3")) skip("python3 is not here");
    const within = "import os, pty, time; pid, _ = pty.fork(); pid or os.execvp('cat', ['cat'])";
    const watch = start("python3", "-c", `${within}; open('inner', 'w').write(str(pid)); time.sleep(1000)`);
    const inner = () => readProcess(Number(nursery.lines("inner")[0] ?? 0));
    await until(() => inner() !== null, "the inner one");
    await until(() => readsTerminal(watch.look(), inner()?.tty ?? 0) === true, "the inner one reads");
    expect(watch.facts().readsTerminal).toBe(false);
  });

  it("is not claimed where there is no terminal", async () => {
    const { child, root } = startAgent(nursery.write("agent.sh", ["read x"]), null, {
      stdio: ["pipe", "ignore", "ignore"],
    });
    const watch = createTreeWatch(root);
    expect(watch.facts()).toMatchObject({ processes: 1, readsTerminal: false });
    child.stdin?.end();
  });
});
