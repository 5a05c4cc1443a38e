import { readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { isSame } from "../packages/holder/src/processes/read-processes.ts";
import { agentOnce, forever, sh } from "./agent-once.ts";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { agentLives, holderOf, outputOf, spawnAgent, whatIsLeft } from "./held-agents.ts";
import { eventOnce, eventsOf, fastPolicy, startWeak } from "./ladder-agents.ts";
import { runRouse, startRouse } from "./run-rouse.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

const hasFinished = ({ activity }: { activity: { kind: string } }): boolean => activity.kind === "FINISHED";

describe("an agent that dies", () => {
  it("in the middle of its work goes on after its last completed step, with the same state", async () => {
    const daemon = await startDaemon({ config: fastPolicy });
    await startWeak(daemon, "cora", "crasher");
    await agentOnce(daemon, "cora", "finishes", hasFinished);
    const { payload } = await eventOnce(daemon, "cora", "RECOVERY_COMPLETED");
    expect(payload).toMatchObject({ step: 2, lost: { checkpoints: 0, startsOver: false } });
    const { text } = outputOf(daemon.home, "cora");
    expect(text.match(/step 2: write a failing test/g)).toHaveLength(1);
    expect(text).toContain("back: going on after step 2 (write a failing test)");
    const status = await daemon.rouse.getRecoveryStatus("task-of-cora");
    expect(status).toMatchObject({ phase: "recovered", agentId: "cora", attempts: 1, last: { step: 2, attempt: 1 } });
    expect((await daemon.cli("checkpoints", "verify", "task-of-cora")).code).toBe(0);
  });

  it("by itself with status 0 has finished, and is not brought back", async () => {
    const daemon = await startDaemon({ config: fastPolicy });
    await spawnAgent(daemon.home, "done", sh("echo all done"));
    await agentOnce(daemon, "done", "finishes", hasFinished);
    // Whatever would be started again, is started again before this one.
    await startWeak(daemon, "cora", "crasher");
    await eventOnce(daemon, "cora", "RECOVERY_COMPLETED");
    expect((await eventsOf(daemon, "done")).map(({ type }) => type)).not.toContain("RESTART_ORDERED");
  });

  it("whose command is gone by then is handed to a person, with the reason", async () => {
    const daemon = await startDaemon({ config: fastPolicy });
    const command = join(makeFolder(), "agent.sh");
    writeFileSync(command, `#!/bin/sh\n${forever}\n`, { mode: 0o755 });
    const held = await spawnAgent(daemon.home, "lost", [command]);
    renameSync(command, `${command}.gone`);
    process.kill(held.agent?.pid ?? 0, "SIGKILL");
    const { payload } = await eventOnce(daemon, "lost", "RESTART_FAILED");
    expect(payload.problem).toContain("agent.sh");
    await eventOnce(daemon, "lost", "RESTARTS_EXHAUSTED");
    const [escalation] = await daemon.rouse.escalations({ agentId: "lost" });
    expect(escalation).toMatchObject({
      severity: "SEV-2",
      reason: "restarts-exhausted",
      otherwise: "hand-to-a-person",
    });
    renameSync(`${command}.gone`, command);
    await daemon.rouse.decide(escalation?.id ?? "", { decision: "terminate_and_recover" });
    await until("it lives again", () => agentLives(holderOf(daemon.home, "lost")));
  });
});

describe("a person's order while no Rouse is running", () => {
  it("is obeyed, and what could not be done for the agent is said", async () => {
    const daemon = await startDaemon({ config: fastPolicy });
    await spawnAgent(daemon.home, "alone", sh(`echo "recovery <$ROUSE_RECOVERY>"; ${forever}`));
    daemon.process.child.kill("SIGKILL");
    await daemon.process.ended;
    const back = await runRouse(["recover", "alone"], daemon);
    expect(back).toMatchObject({ code: 0, stdout: "alone runs again, incarnation 2.\n" });
    expect(back.stderr).toContain("its uncommitted work was not saved, and it starts from the beginning");
    const end = await runRouse(["terminate", "alone"], daemon);
    expect(end).toMatchObject({ code: 0, stdout: `alone ended; ${whatIsLeft}\n` });
    expect(end.stderr).toContain("its uncommitted work was not saved");
    const again = await runRouse(["terminate", "alone"], daemon);
    expect(again).toMatchObject({ code: 0, stdout: "alone was over already.\n" });
    expect(again.stderr).not.toContain("its uncommitted work");
  });
});

describe("an agent that fails while no Rouse is running", () => {
  it("and is ended by a person then stays down when there is one again", async () => {
    const daemon = await startDaemon({ config: fastPolicy });
    const always = await spawnAgent(daemon.home, "kept", sh(forever), ["--restart", "always"]);
    const failing = await spawnAgent(daemon.home, "failed", sh("until [ -e go ]; do sleep 0.1; done; exit 3"), [
      "--restart",
      "on-failure:3",
    ]);
    await daemon.end("SIGKILL");
    process.kill(always.agent?.pid ?? 0, "SIGKILL");
    writeFileSync(join(dirname(daemon.home), "go"), "");
    for (const held of [always, failing]) await until("it is down", () => !agentLives(held));
    for (const name of ["kept", "failed"]) {
      const end = await runRouse(["terminate", name], daemon);
      expect(end).toMatchObject({ code: 0, stdout: `${name} was down and will not be started again.\n` });
    }
    const next = await startDaemon({ home: daemon.home, config: fastPolicy });
    for (const name of ["kept", "failed"]) {
      const over = await agentOnce(next, name, "is over", ({ over }) => over !== null);
      expect(over).toMatchObject({ incarnation: 1, terminal: { exit: { cause: "stopped" } } });
    }
    expect(await next.rouse.events({ types: ["RESTART_ORDERED"] })).toEqual([]);
  });

  it("and was to run once is not started again when there is one, though that one never saw it live", async () => {
    const home = join(makeFolder(), "home");
    const once = await spawnAgent(home, "once", sh("exit 3"), ["--restart", "no"]);
    await until("it is down and its holder gone", () => !agentLives(once) && !isSame(once.holder));
    const daemon = await startDaemon({ home, config: fastPolicy });
    const over = await agentOnce(daemon, "once", "is over", ({ over }) => over !== null);
    expect(over).toMatchObject({ incarnation: 1, terminal: { restartRule: { when: "no" } } });
    expect(await daemon.rouse.events({ types: ["RESTART_ORDERED"] })).toEqual([]);
  });

  it("and whose end was known before stays down as well", async () => {
    const config = "health_monitoring: { restart: { cooldown_seconds: 5 } }\n";
    const daemon = await startDaemon({ config });
    await spawnAgent(daemon.home, "known", sh("exit 3"), ["--restart", "on-failure:3"]);
    await agentOnce(
      daemon,
      "known",
      "is down again",
      ({ incarnation, terminal }) => incarnation === 2 && terminal?.exit != null,
    );
    await daemon.end("SIGKILL");
    const end = await runRouse(["terminate", "known"], daemon);
    expect(end).toMatchObject({ code: 0, stdout: "known was down and will not be started again.\n" });
    const next = await startDaemon({ home: daemon.home, config });
    const over = await agentOnce(next, "known", "is over", ({ over }) => over !== null);
    expect(over).toMatchObject({ state: "TERMINATED", incarnation: 2 });
    expect(await next.rouse.events({ types: ["RESTART_CANCELLED"] })).toHaveLength(1);
  });
});

describe("a person's order whose monitor dies before it can answer", () => {
  const config = "health_monitoring: { intervention: { termination: { grace_seconds: 5 } } }\n";
  const inDoubt = /^rouse: [^\n]*the order may be under way all the same: `rouse events --agent stubborn` tells\n$/;

  /** Saves one checkpoint, and ends only by force. */
  const stubborn = `
    trap '' TERM
    echo "recovery <$ROUSE_RECOVERY>"
    [ -n "$ROUSE_RECOVERY" ] || printf 'Authorization: Bearer %s' "$ROUSE_TOKEN" | curl -s -H @- -H 'Content-Type: application/json' "$ROUSE_URL/api/v1/tasks/$ROUSE_TASK_ID/checkpoints" -d '{"step":4,"stepName":"four","state":{}}' >/dev/null
    ${forever}`;

  async function dieUnderOrder(words: readonly string[]) {
    const daemon = await startDaemon({ config });
    const held = await spawnAgent(daemon.home, "stubborn", sh(stubborn), ["--task", "t-4"]);
    await until("its checkpoint is saved", async () => (await daemon.rouse.checkpoints("t-4")).length === 1);
    const order = startRouse(words, daemon);
    await eventOnce(daemon, "stubborn", "TERMINATION_ORDERED");
    await daemon.end("SIGKILL");
    return { home: daemon.home, held, end: await order.ended };
  }

  it("to bring it back is left to the next monitor: it goes on after its checkpoint, not from the start", async () => {
    const { home, end } = await dieUnderOrder(["recover", "stubborn"]);
    expect(end).toMatchObject({ code: 3, stdout: "", stderr: expect.stringMatching(inDoubt) });
    const daemon = await startDaemon({ home });
    const { payload } = await eventOnce(daemon, "stubborn", "RECOVERY_COMPLETED");
    expect(payload).toMatchObject({ step: 4, incarnation: 2 });
    await until("it was told", () => /recovery <[^>]*"step":4/.test(outputOf(home, "stubborn").text));
  });

  it("to end it is on record as carried out, and signed, though its holder has left as well", async () => {
    const { home, held, end } = await dieUnderOrder(["terminate", "stubborn"]);
    expect(end).toMatchObject({ code: 3, stdout: "", stderr: expect.stringMatching(inDoubt) });
    await until("its holder left", () => !agentLives(held) && !isSame(held.holder));
    const daemon = await startDaemon({ home });
    const { payload } = await eventOnce(daemon, "stubborn", "AGENT_TERMINATED");
    expect(payload).toMatchObject({ incarnation: 1, because: "ordered", forced: true });
    expect(await daemon.events("TERMINATION_REFUSED")).toEqual([]);
    const { entries } = JSON.parse((await daemon.cli("audit", "list", "--json", "--agent", "stubborn")).stdout);
    expect(entries.at(-1)).toMatchObject({ action: "terminate", reason: "ordered", signature: expect.any(String) });
  });
});

describe("broken checkpoints", () => {
  /** Dies when it is told to, and says in its next life where it goes on. */
  const mortal = `
    post() { printf 'Authorization: Bearer %s' "$ROUSE_TOKEN" | curl -s -H @- -H 'Content-Type: application/json' "$ROUSE_URL$1" --data-binary "$2" >/dev/null; }
    echo "recovery $ROUSE_RECOVERY"
    if [ -z "$ROUSE_RECOVERY" ]; then for n in 1 2 3; do post /api/v1/tasks/$ROUSE_TASK_ID/checkpoints '{"step":'$n',"stepName":"step '$n'","state":{"big":"'$(head -c 90000 /dev/zero | tr '\\0' $n)'"}}'; done; echo saved; fi
    ${forever}`;

  const statesOf = ({ home }: Daemon): string[] =>
    readdirSync(join(home, "states"), { recursive: true, encoding: "utf8" })
      .filter((name) => /[0-9a-f]{64}$/.test(name))
      .map((name) => join(home, "states", name));

  it.each([
    ["damaged", (file: string) => writeFileSync(file, "not what it was"), "state-changed"],
    ["gone", (file: string) => rmSync(file), "state-missing"],
  ] as const)("whose newest is %s: it goes on from the one before, and says what is lost", async (_, harm, flaw) => {
    const daemon = await startDaemon({ config: fastPolicy });
    const held = await spawnAgent(daemon.home, "mort", sh(mortal), ["--task", "t-1"]);
    const saved = await until("three checkpoints are saved", async () => {
      const chain = await daemon.rouse.checkpoints("t-1");
      return chain.length === 3 && chain;
    });
    const newest = saved[0]?.stateHash ?? "";
    for (const file of statesOf(daemon)) if (file.endsWith(newest)) harm(file);
    process.kill(held.agent?.pid ?? 0, "SIGKILL");
    const { payload } = await eventOnce(daemon, "mort", "RECOVERY_COMPLETED");
    expect(payload).toMatchObject({ step: 2, lost: { checkpoints: 1, steps: 1, flaws: [flaw], startsOver: false } });
    await until("the replacement says so", () => outputOf(daemon.home, "mort").text.includes('"step":2,'));
    expect((await daemon.cli("checkpoints", "verify", "t-1")).code).toBe(1);
  });

  it("all of them: the task starts over, and a person is told", async () => {
    const daemon = await startDaemon({ config: fastPolicy });
    const held = await spawnAgent(daemon.home, "mort", sh(mortal), ["--task", "t-1"]);
    await until("three checkpoints are saved", async () => (await daemon.rouse.checkpoints("t-1")).length === 3);
    for (const file of statesOf(daemon)) writeFileSync(file, "nothing is left");
    process.kill(held.agent?.pid ?? 0, "SIGKILL");
    const { payload } = await eventOnce(daemon, "mort", "RECOVERY_COMPLETED");
    expect(payload).toMatchObject({ fromCheckpoint: null, step: null, lost: { checkpoints: 3, startsOver: true } });
    await until("a person is told", async () =>
      (await daemon.events("ALERT_RAISED")).some(({ payload: alert }) =>
        /starts over/.test((alert as { summary: string }).summary),
      ),
    );
  });
});
