import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeProgram } from "../output/make-program.test-support.ts";
import type { AgentProcess } from "../terminal/agent-process.ts";
import { openTerminal } from "../terminal/open-terminal.ts";
import { readProcess } from "./read-processes.ts";
import { readsTerminal } from "./reads-terminal.ts";
import { killHard, nurseryOfEach, onLinux, patient, rootOf, startAgent, until } from "./real-processes.test-support.ts";
import { createTreeWatch } from "./watch-tree.ts";

const python = (before: string, after: string) => ["python3", "-c", `${before}; print('begun', flush=True); ${after}`];
const isHere = (command: string): boolean => spawnSync("sh", ["-c", `command -v ${command}`]).status === 0;

describe.skipIf(!onLinux)("a read of the terminal", patient, () => {
  const nursery = nurseryOfEach();
  let agent: AgentProcess | null;
  let output: string;
  beforeEach(() => {
    agent = null;
    output = "";
  });
  afterEach(() => {
    if (agent !== null) killHard(agent.pid);
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

  const others: Record<string, [state: string, ...command: string[]]> = {
    "one that sleeps": ["S", "sh", "-c", "echo begun; exec sleep 1000"],
    "one that reads a pipe": ["S", "sh", "-c", "echo begun; sleep 1000 | cat"],
    "one that waits for a while only": ["S", ...python("import select", "select.select([0], [], [], 1000)")],
    "one that reads another terminal": ["S", ...python("import os, pty; _, side = pty.openpty()", "os.read(side, 1)")],
    "a busy one": ["R", "node", "-e", "console.log('begun'); for (;;);"],
  };
  it.for(Object.entries(others))("is not seen in %s", async ([, [state, ...command]], { skip }) => {
    if (!isHere(command[0] ?? "")) skip(`${command[0]} is not here`);
    const watch = start(...command);
    await until(() => output.includes("begun") && readProcess(agent?.pid ?? 0)?.state === state, "it has begun");
    expect(watch.facts().readsTerminal).toBe(false);
  });

  it("of a terminal inside the agent's is none of the agent's", async ({ skip }) => {
    if (!isHere("python3")) skip("python3 is not here");
    const within = "import os, pty, time; pid, _ = pty.fork(); pid or os.execvp('cat', ['cat', '/dev/tty'])";
    const watch = start("python3", "-c", `${within}; open('inner', 'w').write(str(pid)); time.sleep(1000)`);
    const inner = () => readProcess(nursery.pidIn("inner"));
    await until(() => inner() !== null, "the inner one");
    await until(() => readsTerminal(watch.look(), inner()?.tty ?? 0) === true, "the inner one reads");
    expect(watch.facts().readsTerminal).toBe(false);
  });

  it("is unknown where calls are hidden from us, and not claimed where there is no terminal", async () => {
    const { child } = startAgent(nursery.write("agent.sh", [`exec ${nursery.linger}`]));
    // One of another user; root may look at everybody.
    const program = await makeProgram(
      import.meta.dirname,
      nursery.folder,
      `import { readProcess } from "./read-processes.ts";
       import { readsTerminal } from "./reads-terminal.ts";
       const isRoot = process.getuid?.() === 0;
       if (isRoot) { process.setgid?.(65534); process.setuid?.(65534); }
       const seen = [0, 34816].map((tty) => readsTerminal([{ ...readProcess(isRoot ? ${child.pid} : 1), tty }], tty));
       console.log(JSON.stringify(seen));`,
    );
    const [said] = await once(program().stdout, "data");
    expect(JSON.parse(String(said))).toEqual([false, null]);
  });
});
