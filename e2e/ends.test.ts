import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EventType } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { agentOnce, isHeld, isOver, sh } from "./agent-once.ts";
import { makeFolder } from "./clean-up.ts";
import { endAgentsAfterwards } from "./end-agents.ts";
import { daemon, desk, holdForAll, isThere } from "./held-agents.ts";
import { crashAndReturn, eventOnce, eventsOf, typesOf } from "./ladder-agents.ts";
import { startRouse } from "./run-rouse.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

/** Clocks for tests: STUCK after three seconds without a word. */
const config = `
health_monitoring:
  restart: { cooldown_seconds: 0.1 }
  terminal: { idle_timeout_minutes: 0.05 }
`;

holdForAll({ config });

async function alertsOf(agentId: string, from: Daemon = daemon): Promise<string[]> {
  const events = await eventsOf(from, agentId);
  return events.flatMap((event) =>
    event.type === "ALERT_RAISED" ? [`${event.payload.severity}: ${event.payload.summary}`] : [],
  );
}

/** Does nothing until there is such a file. */
const awaits = (file: string): string => `until [ -e ${join(desk, file)} ]; do sleep 0.1; done`;
const give = (file: string): void => writeFileSync(join(desk, file), "");

describe("a command that is spawned", () => {
  it("is run once, and that it failed is one warning: no illness, no incident, no second run", async () => {
    const spawned = await daemon.cli("spawn", "--name", "migrate", "--", ...sh("echo migrating; exit 3"));
    expect(spawned.stdout).toContain("It is not started again when it ends; `--restart` changes that.\n");
    await until("it is told", async () => (await alertsOf("migrate")).length > 0);
    expect(await alertsOf("migrate")).toEqual([
      "warning: migrate: its process ended with status 3; it is not started again (--restart no)",
    ]);
    expect(await agentOnce(daemon, "migrate", "is over", isOver)).toMatchObject({
      state: "HEALTHY",
      incident: null,
      terminal: { restartRule: { when: "no", max: 0 } },
    });
    expect(await typesOf(daemon, "migrate")).not.toContain("RESTART_ORDERED");
    expect((await daemon.cli("health", "migrate")).stdout).toMatch(/when it ends +not started again\n/);
    const { stdout } = await daemon.cli("recover", "migrate");
    expect(stdout).toContain("migrate runs again, incarnation 2");
  });

  it("with a task, or known to be an agent, is started again if it fails, and it is said how often", async () => {
    const worker = await daemon.cli("spawn", "--name", "worker", "--task", "t-9", "--", ...sh("sleep 1000"));
    expect(worker.stdout).toContain("If it fails it is started again up to 3 times in an hour.\n");
    const claude = join(desk, "claude");
    writeFileSync(claude, "#!/bin/sh\nexec sleep 1000\n", { mode: 0o755 });
    const known = await daemon.cli("spawn", "--name", "known", "--json", "--", claude);
    expect(JSON.parse(known.stdout).restartRule).toEqual({
      when: "on-failure",
      max: 3,
      windowSeconds: 3600,
    });
  });

  it("keeps its rule over a crash of Rouse and over its next life", async () => {
    const home = join(makeFolder(), "home");
    endAgentsAfterwards(home);
    const first = await startDaemon({ home, config });
    const words = ["spawn", "--name", "twice", "--restart", "on-failure:2", "--"];
    await first.cli(...words, ...sh(`[ $ROUSE_INCARNATION = 1 ] && exit 1; sleep 1000`));
    await agentOnce(first, "twice", "lives again", ({ incarnation }) => incarnation === 2);
    const second = await crashAndReturn(first);
    const found = await agentOnce(second, "twice", "is found", ({ terminal }) => terminal?.holder === "here");
    expect(found.terminal?.restartRule).toEqual({ when: "on-failure", max: 2, windowSeconds: 3600 });
  });

  it("that is to run always runs again after status 0, and not after it was ended", async () => {
    const words = ["spawn", "--name", "loop", "--restart", "always", "--"];
    expect((await daemon.cli(...words, ...sh("echo run; sleep 0.2"))).stdout).toContain(
      "It is started again whenever it ends, unless you end it; after failures up to 3 times in an hour.\n",
    );
    await agentOnce(daemon, "loop", "runs for the fifth time", ({ incarnation }) => incarnation >= 5);
    expect(await alertsOf("loop")).toEqual([]);
    await daemon.cli("terminate", "loop");
    // It may have ended by itself at the same moment; either way nothing follows.
    await agentOnce(daemon, "loop", "is over", ({ over }) => over != null);
  });

  it("that is to run always runs again although it left a process, which is ended first and told", async () => {
    const server = "setsid sh -c 'echo $$ > server; exec sleep 1000' & until [ -s server ]; do sleep 0.05; done";
    const script = `cd ${desk}; [ $ROUSE_INCARNATION = 1 ] || exec sleep 1000; ${server}`;
    await daemon.cli("spawn", "--name", "leaver", "--restart", "always", "--", ...sh(script));
    await agentOnce(daemon, "leaver", "runs again", ({ incarnation }) => incarnation === 2);
    expect(isThere(Number(readFileSync(join(desk, "server"), "utf8")))).toBe(false);
    expect(await typesOf(daemon, "leaver")).toContain("AGENT_LEFT_PROCESSES");
    const trail = await daemon.cli("audit", "list", "--agent", "leaver", "--json");
    expect(trail.stdout).toContain('"end-leftovers"');
  });
});

describe("a program that was told to say when it is done", () => {
  const prompt = "mend the tests; when all is done, end with <promise>COMPLETE</promise>";

  it("and ends with status 0 without saying it, is brought back for its task until it does", async () => {
    const claude = join(makeFolder(), "claude");
    const script = "[ $ROUSE_INCARNATION = 1 ] && echo 'I will look into it.' || echo '<promise>COMPLETE</promise>'";
    writeFileSync(claude, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    await daemon.rouse.createTask({ taskId: "t-marker", title: "mend the tests" });
    await daemon.cli("spawn", "--name", "promiser", "--task", "t-marker", "--", claude, "-p", prompt);
    const { payload } = await eventOnce(daemon, "promiser", "HEALTH_STATE_CHANGED");
    expect(payload).toMatchObject({
      to: "UNRESPONSIVE",
      findings: [{ text: "its process ended with status 0 without the completion marker it announced" }],
    });
    const done = await agentOnce(daemon, "promiser", "has finished", ({ activity }) => activity.kind === "FINISHED");
    expect(done).toMatchObject({ incarnation: 2, terminal: { exit: { code: 0 } } });
    expect(await daemon.rouse.task("t-marker")).toMatchObject({ status: "completed" });
  });
});

describe("an agent whose task runs over its timeout", () => {
  it("is stopped when it works on and its owner said so, and nobody brings it back", async () => {
    const rule = `
health_monitoring:
  intervention: { nudge: { interval_seconds: 2 } }
  tasks: { on_timeout: stop }
`;
    const ruled = await startDaemon({ config: rule });
    endAgentsAfterwards(ruled.home);
    await ruled.rouse.createTask({ taskId: "t-long", timeoutMinutes: 0.03, onTimeout: "cancel" });
    const endless = "n=0; while :; do n=$((n+1)); echo line $n; sleep 0.2; done";
    await ruled.cli("spawn", "--name", "endless", "--task", "t-long", "--", ...sh(endless));
    const { payload } = await eventOnce(ruled, "endless", "AGENT_TERMINATED");
    expect(payload).toMatchObject({ because: "task-timed-out" });
    const types = await typesOf(ruled, "endless");
    expect(types).toContain("TASK_TIMED_OUT");
    await eventOnce(ruled, "endless", "INCIDENT_CLOSED");
    expect(await typesOf(ruled, "endless")).not.toContain("RESTART_ORDERED");
    expect(await ruled.rouse.task("t-long")).toMatchObject({ status: "cancelled" });
  });
});

describe("a command in a person's own terminal", () => {
  const started = (name: string, script: string, home = daemon.home) =>
    startRouse(["run", "--name", name, "--", ...sh(script)], { home });
  const incidents: readonly EventType[] = ["INCIDENT_OPENED", "ESCALATION_TRIGGERED", "RESTART_ORDERED"];

  it("that exits is no incident: it is known how it ended, and nobody is called", async () => {
    expect((await started("shell", "exit 7").ended).code).toBe(7);
    const over = await agentOnce(daemon, "shell", "is over", isOver);
    expect(over).toMatchObject({ state: "HEALTHY", terminal: { exit: { code: 7 } }, incident: null, handedOver: null });
    expect(await alertsOf("shell")).toEqual([]);
    expect((await typesOf(daemon, "shell")).filter((type) => incidents.includes(type))).toEqual([]);
  });

  it("that exits while it is STUCK and asked about takes the question and its alert with it", async () => {
    const stuck = started("hung", `echo working; ${awaits("hung-may-end")}; exit 7`);
    await eventOnce(daemon, "hung", "ESCALATION_TRIGGERED");
    give("hung-may-end");
    expect((await stuck.ended).code).toBe(7);
    const over = await agentOnce(daemon, "hung", "is over", isOver);
    expect(over).toMatchObject({ state: "HEALTHY", incident: null, handedOver: null });
    const types = await typesOf(daemon, "hung");
    expect(types).toContain("INCIDENT_CLOSED");
    expect(types).not.toContain("AGENT_RECOVERED");
    expect((await alertsOf("hung")).filter((alert) => alert.startsWith("critical"))).toEqual([]);
    expect(types.filter((type) => type === "ALERT_RAISED")).toHaveLength(
      types.filter((type) => type === "ALERT_RESOLVED").length,
    );
    expect((await daemon.rouse.escalations()).filter(({ agentId }) => agentId === "hung")).toEqual([]);
  });

  it("that exits while Rouse is down is no incident when it comes back", async () => {
    const home = join(makeFolder(), "home");
    endAgentsAfterwards(home);
    const first = await startDaemon({ home, config });
    const away = started("away", `echo working; ${awaits("away-may-end")}; exit 7`, home);
    await agentOnce(first, "away", "is held", isHeld);
    await first.end("SIGKILL");
    give("away-may-end");
    expect((await away.ended).code).toBe(7);
    const second = await startDaemon({ home });
    const over = await agentOnce(second, "away", "is over", isOver);
    expect(over).toMatchObject({ state: "HEALTHY", terminal: { exit: { code: 7 } }, incident: null });
    expect((await alertsOf("away", second)).filter((alert) => alert.startsWith("critical"))).toEqual([]);
    expect(await typesOf(second, "away")).not.toContain("RESTART_ORDERED");
  });
});
