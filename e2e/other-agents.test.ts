import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { readExitFile, readHolderFile } from "../packages/daemon/src/holders/read-holder-files.ts";
import { isSame, readProcess } from "../packages/holder/src/processes/read-processes.ts";
import { stopTree } from "../packages/holder/src/processes/stop-tree.ts";
import { createTreeWatch, type TreeWatch } from "../packages/holder/src/processes/watch-tree.ts";
import { agentOnce, forever, isHeld, isOver } from "./agent-once.ts";
import { watchChild } from "./clean-up.ts";
import { agentLives, daemon, desk, holderOf, holdForAll, isThere, outputOf, spawnScript } from "./held-agents.ts";
import { eventOnce, typesOf } from "./ladder-agents.ts";
import { typedRouse } from "./run-rouse.ts";
import { until } from "./until.ts";

const config = `
health_monitoring:
  restart: { cooldown_seconds: 1 }
  intervention: { termination: { grace_seconds: 2 } }
`;

holdForAll({ config });

const hasTmux = has("tmux");
if (!hasTmux) console.error("e2e: TMUX IS NOT INSTALLED: the tests of agents in its sessions are SKIPPED.");

function has(command: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${command}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

const lives = (name: string): boolean => {
  const file = readHolderFile(daemon.home, name);
  return file !== null && isSame(file.holder) && agentLives(file);
};

/** Something that looks like an agent and is watched by us, as a holder would. */
function startOrchestrator(name: string, script: string): { child: ChildProcess; watch: TreeWatch } {
  const mark = `mark-of-${name}`;
  const env = { PATH: process.env["PATH"], HOME: daemon.home, ROUSE_HOME: daemon.home, ROUSE_MARK: mark };
  const child = spawn("sh", ["-c", script], { cwd: desk, detached: true, stdio: "ignore", env });
  watchChild(child);
  const agent = { pid: child.pid ?? 0, startTicks: readProcess(child.pid ?? 0)?.startTicks ?? 0 };
  const ownGroup = readProcess(process.pid)?.pgid ?? 0;
  return { child, watch: createTreeWatch({ agent, mark, cgroup: null, ownGroup, useGroup: true, known: [] }) };
}

/** As an unlucky holder does: looks again and again, so that whoever is of the tree for a moment is seen in it. */
async function lookUntil(watch: TreeWatch, condition: () => boolean): Promise<Set<number>> {
  const seen = new Set<number>();
  await until("what is looked for has come", async () => {
    for (let looks = 0; looks < 10 && !condition(); looks++) {
      for (const { pid } of watch.look()) seen.add(pid);
      for (const { pid } of watch.others()) seen.add(pid);
      await pause(1);
    }
    return condition();
  });
  return seen;
}

describe("an agent that another agent started", () => {
  it("is not of its starter's tree, at whatever moment of its birth that is looked at", async () => {
    let met = 0;
    for (let round = 0; round < 10; round++) {
      const name = `born-${round}`;
      const { child, watch } = startOrchestrator(
        name,
        `${typedRouse} spawn --name ${name} -- sh -c '${forever}'; ${forever}`,
      );
      const seen = await lookUntil(watch, () => lives(name));
      const { holder, agent } = holderOf(daemon.home, name);
      if (seen.has(holder.pid)) met++;
      if (round % 2 === 0) child.kill("SIGKILL"); // its orchestrator crashed, and what is left is looked for
      expect(await stopTree(watch, { graceMs: 300 })).toMatchObject({
        kind: expect.stringMatching(/stopped|already-over/),
      });
      expect(watch.root().known.map(({ pid }) => pid)).not.toContain(holder.pid);
      expect(watch.root().known.map(({ pid }) => pid)).not.toContain(agent?.pid);
      expect(lives(name)).toBe(true);
    }
    expect(met).toBeGreaterThan(0);
  });

  it("lives on when its starter is stopped in the middle of its birth", async () => {
    for (let round = 0; round < 10; round++) {
      const name = `kid-${round}`;
      const { watch } = startOrchestrator(name, `${typedRouse} spawn --name ${name} -- sh -c '${forever}'; ${forever}`);
      const claimed = () => readHolderFile(daemon.home, name);
      const starter = () => watch.look().find(({ pid }) => pid === claimed()?.holder.pid)?.pid;
      await lookUntil(watch, () => claimed() !== null && starter() === undefined);
      await stopTree(watch, { graceMs: 100 });
      await until("it is held", () => lives(name));
      expect(readExitFile(daemon.home, name)).toBeNull();
    }
  });

  it("lives on when its starter crashes and is restarted, and is none of its leftovers", async () => {
    const names = Array.from({ length: 20 }, (_, at) => `crew-${at}`);
    // So many that some are being born whenever their starter's processes are looked at.
    const script = `if [ ! -e once ]; then touch once
        for name in ${names.join(" ")}; do ${typedRouse} spawn --name $name -- sh -c '${forever}'; done; exit 3; fi; echo second life; ${forever}`;
    await spawnScript(daemon, "chief", script, "--restart", "on-failure");
    await until("it is back", () => outputOf(daemon.home, "chief").text.includes("second life"), 100_000);
    expect(names.filter((name) => !lives(name))).toEqual([]);
    expect(await typesOf(daemon, "chief")).not.toContain("AGENT_LEFT_PROCESSES");
    const over = (await daemon.events("PROCESS_EXITED")).map(({ payload }) => (payload as { agentId: string }).agentId);
    expect(names.filter((name) => over.includes(name))).toEqual([]);
    expect((await daemon.cli("terminate", "chief")).stdout).toContain("chief ended");
    expect(names.filter((name) => !lives(name))).toEqual([]);
  });

  it("in the foreground of a child is left alone, and that is said", async () => {
    const inner = `setsid sh -c "${typedRouse.replaceAll('"', '\\"')} run --name inner -- sh -c '${forever}'" < /dev/null > inner.log 2>&1 &`;
    await spawnScript(daemon, "outer", `${inner} ${forever}`);
    await agentOnce(daemon, "inner", "is held", isHeld);
    const end = await daemon.cli("terminate", "outer");
    expect(end.stdout).toMatch(/^outer ended; nothing else of it [^\n]*\.\nleft alone: \w+ \(\d+\), .*agent inner/);
    expect(end.code).toBe(0);
    expect(lives("inner")).toBe(true);
    const { payload } = await eventOnce(daemon, "outer", "AGENT_TERMINATED");
    expect(payload.spared).toEqual([expect.objectContaining({ agents: ["inner"] })]);
    const audit = JSON.parse((await daemon.cli("audit", "list", "--json")).stdout);
    expect(JSON.stringify(audit)).toContain('"agents":["inner"]');
  });
});

describe.skipIf(!hasTmux)("a tmux server that an agent started", () => {
  const open = (server: string) =>
    `tmux -L ${server} -f /dev/null new-session -d -s dev 'sleep 1000'; echo open; ${forever}`;
  const tmux = (server: string, ...words: string[]) =>
    execFileSync("tmux", ["-L", server, ...words], {
      env: { PATH: process.env["PATH"], HOME: daemon.home, TERM: "xterm" },
      encoding: "utf8",
    });
  const serverOf = (server: string) => Number(tmux(server, "display-message", "-p", "#{pid}"));

  it("stays for the sake of another agent in it, with what people have open there, and is no survivor", async () => {
    await spawnScript(daemon, "tm-a", open("shared"));
    await until("tmux is up", () => outputOf(daemon.home, "tm-a").text.includes("open"));
    tmux("shared", "new-session", "-d", "-s", "person", `echo $$ > ${desk}/person; exec sleep 1000`);
    tmux("shared", "new-session", "-d", "-s", "agent", `${typedRouse} run --name tm-b -- sh -c '${forever}'`);
    await agentOnce(daemon, "tm-b", "is held", isHeld);
    await until("the person works", () => existsSync(join(desk, "person")));
    const server = serverOf("shared");
    const end = await daemon.cli("terminate", "tm-a");
    expect(end.stdout.split("\n")).toEqual([
      expect.stringMatching(/^tm-a ended; nothing else of it /),
      `left alone: tmux (${server}), agent tm-b runs in it`,
      "",
    ]);
    expect(lives("tm-b")).toBe(true);
    expect(isThere(Number(readFileSync(join(desk, "person"), "utf8")))).toBe(true);
    expect(tmux("shared", "list-sessions", "-F", "#{session_name}")).toBe("agent\ndev\nperson\n");
    const again = await daemon.cli("recover", "tm-a");
    expect(again).toMatchObject({ code: 0, stdout: "tm-a runs again, incarnation 2.\n" });
    expect(lives("tm-b")).toBe(true);
    await daemon.cli("terminate", "tm-a");
  });

  it("leaves no leftovers of an agent that finished while another runs in it", async () => {
    await spawnScript(
      daemon,
      "tm-c",
      `tmux -L done -f /dev/null new-session -d -s x 'sleep 1000'; while [ ! -e end-c ]; do sleep 0.05; done`,
    );
    await until("tmux is up", () => attempt(() => serverOf("done")) > 0);
    tmux("done", "new-session", "-d", "-s", "agent", `${typedRouse} run --name tm-d -- sh -c '${forever}'`);
    await agentOnce(daemon, "tm-d", "is held", isHeld);
    writeFileSync(join(desk, "end-c"), "");
    await agentOnce(daemon, "tm-c", "is over", isOver);
    expect(await typesOf(daemon, "tm-c")).not.toContain("AGENT_LEFT_PROCESSES");
    expect(lives("tm-d")).toBe(true);
  });

  it("ends with it when no other agent is in it, and is named", async () => {
    await spawnScript(daemon, "tm-e", open("own"));
    await until("tmux is up", () => outputOf(daemon.home, "tm-e").text.includes("open"));
    const server = serverOf("own");
    const end = await daemon.cli("terminate", "tm-e");
    expect(end.stdout).toContain(`\nwith it ended: tmux (${server})\n`);
    expect(isThere(server)).toBe(false);
  });
});

describe.skipIf(!hasTmux)("rouse run in a tmux server", () => {
  it("that is told to end by a signal was not ended by a person", async () => {
    const running = spawn(
      "tmux",
      [
        "-L",
        "doomed",
        "-f",
        "/dev/null",
        "new-session",
        "-d",
        "-s",
        "x",
        `${typedRouse} run --name tm-f -- sh -c '${forever}'`,
      ],
      {
        cwd: desk,
        env: { PATH: process.env["PATH"], HOME: daemon.home, ROUSE_HOME: daemon.home, TERM: "xterm" },
        stdio: "ignore",
      },
    );
    watchChild(running);
    await agentOnce(daemon, "tm-f", "is held", isHeld);
    process.kill(holderOf(daemon.home, "tm-f").holder.pid, "SIGTERM");
    const { terminal } = await agentOnce(daemon, "tm-f", "is over", isOver);
    expect(terminal?.exit).toMatchObject({ signal: "SIGTERM", cause: "killed" });
  });
});

function attempt(look: () => number): number {
  try {
    return look();
  } catch {
    return 0;
  }
}
