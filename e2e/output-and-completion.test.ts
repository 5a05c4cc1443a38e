import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { openTerminal } from "./open-terminal.ts";
import { program, runRouse, startProgram } from "./run-rouse.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

let daemon: Daemon;
/** Holds a `rouse`, as an installation would. */
let binaries: string;

beforeAll(async () => {
  daemon = await startDaemon();
  await daemon.rouse.recordHeartbeat({ agentId: "worker-1" });
  await daemon.rouse.recordHeartbeat({ agentId: "worker-2" });
  await daemon.rouse.recordHeartbeat({ agentId: "reviewer" });
  binaries = join(dirname(daemon.home), "bin");
  mkdirSync(binaries);
  writeFileSync(join(binaries, "rouse"), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
  chmodSync(join(binaries, "rouse"), 0o755);
});
afterAll(cleanUp);

const environment = (home: string) => ({
  PATH: `${binaries}:${dirname(process.execPath)}:${process.env["PATH"]}`,
  HOME: home,
  ROUSE_HOME: home,
});

describe("an output that cannot be written", () => {
  const commands = [
    ["--version"],
    ["--help"],
    ["ps"],
    ["ps", "--json"],
    ["ps", "-w"],
    ["health", "worker-1"],
    ["why", "worker-1"],
    ["events", "-f"],
    ["audit", "list"],
    ["config", "print"],
    ["doctor"],
    ["completion", "bash"],
  ];

  it.each(commands)("is one sentence and exit code 8: rouse %s %s", (...words) => {
    const full = openSync("/dev/full", "w");
    const { status, stderr } = spawnSync(process.execPath, [program, ...words.filter(Boolean)], {
      env: environment(daemon.home),
      stdio: ["ignore", full, "pipe"],
      encoding: "utf8",
    });
    closeSync(full);
    expect({ status, stderr }).toEqual({
      status: 8,
      stderr: "rouse: the output could not be written: no space left on the device (ENOSPC)\n",
    });
  });

  it("is no reason for a daemon to end", async () => {
    const home = join(makeFolder(), "home");
    const running = startProgram(
      "sh",
      ["-c", 'exec "$0" "$@" > /dev/full', process.execPath, program, "up", "--port", "0"],
      {
        home,
      },
    );
    await until("the daemon answers", async () => (await runRouse(["ps"], { home })).code === 0);
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(0);
  });

  it("ends a command quietly when its reader has enough", () => {
    const text = execFileSync("bash", ["-c", `rouse events | head -1; echo \${PIPESTATUS[*]}`], {
      env: environment(daemon.home),
      encoding: "utf8",
    });
    expect(text).toMatch(/MONITOR_STARTED.*\n0 0\n$/);
  });
});

const has = (shell: string): boolean => spawnSync(shell, ["-c", "exit 0"]).status === 0;

describe("shell completion", () => {
  const lines = [
    ["rouse term", "rouse terminate"],
    ["rouse why rev", "rouse why reviewer"],
    ["rouse ps --unh", "rouse ps --unhealthy"],
  ] as const;

  /** What bash offers for a line whose last word is being typed. */
  function completes(home: string, ...words: string[]): string[] {
    const script = `source <(rouse completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rouse; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const text = execFileSync("bash", ["-c", script, "bash", "rouse", ...words], {
      env: environment(home),
      encoding: "utf8",
    });
    return text.split("\n").filter(Boolean);
  }

  it("of bash completes commands, options, their values and agents", () => {
    expect(completes(daemon.home, "term")).toEqual(["terminate"]);
    expect(completes(daemon.home, "tasks", "re")).toEqual(expect.arrayContaining(["refresh", "release", "retry"]));
    expect(completes(daemon.home, "ps", "--un")).toEqual(["--unhealthy"]);
    expect(completes(daemon.home, "health", "--filter", "")).toEqual(["unhealthy"]);
    for (const line of [["why"], ["stop"], ["rm", "reviewer"], ["events", "--agent"]])
      expect(completes(daemon.home, ...line, "wor")).toEqual(["worker-1", "worker-2"]);
    expect(completes(daemon.home, "run", "--", "")).toEqual([]);
  });

  it("names nobody, and says nothing, where no Rouse is running", () => {
    const home = join(makeFolder(), "home");
    expect(completes(home, "why", "")).toEqual([]);
    const { status, stdout, stderr } = spawnSync("rouse", ["completion", "agents"], {
      env: environment(home),
      encoding: "utf8",
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  /** Types a line and Tab into a shell that a person has open, and waits for what that makes of the line. */
  async function pressesTab(command: string, args: string[], setUp: string, line: string, made: string): Promise<void> {
    const terminal = openTerminal(command, args, { home: daemon.home, environment: environment(daemon.home) });
    terminal.type(`${setUp}; echo rea''dy\r`);
    await terminal.shows("ready");
    terminal.type(`${line}\t`);
    await until(`Tab makes "${made}" of "${line}"`, async () =>
      (await terminal.screen()).some((row) => row.trimEnd().endsWith(made)),
    );
    terminal.close();
    await terminal.ended;
  }

  it.skipIf(!has("zsh"))("of zsh completes commands, options and agents at the press of Tab", async () => {
    const setUp = "autoload -U compinit; compinit -u -D; source <(rouse completion zsh)";
    for (const [line, made] of lines) await pressesTab("zsh", ["-f", "-i"], setUp, line, made);
  });

  it.skipIf(!has("fish"))("of fish completes commands, options and agents at the press of Tab", async () => {
    const setUp = "rouse completion fish | source";
    for (const [line, made] of lines) await pressesTab("fish", ["--no-config", "-i"], setUp, line, made);
    const offers = execFileSync("fish", ["-c", `${setUp}; complete -C "rouse why wor"`], {
      env: environment(daemon.home),
      encoding: "utf8",
    });
    expect(offers.match(/^worker-\d/gm)).toEqual(["worker-1", "worker-2"]);
  });
});
