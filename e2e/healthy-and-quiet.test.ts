import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type EventType, type SavedEvent, seconds } from "@rouse/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agentOnce, sh } from "./agent-once.ts";
import { afterwards, cleanUp, makeFolder } from "./clean-up.ts";
import { fakeClaude, fakeStream, quietAgent } from "./fake-claude.ts";
import { agentLives, holderOf, spawnAgent } from "./held-agents.ts";
import { eventsOf } from "./ladder-agents.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

/**
 * The default policy with seconds for minutes, and budgets that never run out: nobody here lives only because others
 * were stopped before. Nothing else in it makes it easier to stop an agent, but the owner's rules at its end.
 */
const config = `
health_monitoring:
  heartbeat: { interval_seconds: 3, idle_interval_seconds: 3, grace_seconds: 1, startup_grace_seconds: 4 }
  health_check: { checkpoint_stale_threshold_seconds: 20, no_tool_call_seconds: 12 }
  activity: { open_tool_seconds: 10, open_tool_margin_seconds: 2, model_request_seconds: 10 }
  terminal: { idle_timeout_minutes: 0.2, completion_timeout_minutes: 0.2 }
  intervention:
    nudge: { max_attempts: 2, interval_seconds: 2 }
    escalation: { timeout_seconds: 8 }
    termination: { grace_seconds: 2 }
  restart: { cooldown_seconds: 1 }
  budgets: { host_interval_seconds: 1, host_burst: 50, fleet_kills: 100 }
  recovery: { backoff_seconds: [1, 1, 1], probation_seconds: 2 }
agents:
  worse:
    heartbeat: { restart_on_missed_beats: true }
    intervention: { escalation: { timeout_seconds: 30 } }
`;

const patience = 110_000;

let daemon: Daemon;
let folder: string;

beforeAll(async () => {
  daemon = await startDaemon({ config });
  folder = makeFolder();
  const server = await serve();
  const start = (name: string, command: readonly string[], ...options: string[]) => {
    mkdirSync(join(folder, name));
    const place = ["--cwd", join(folder, name), "--env", `SERVER=${server}`];
    return spawnAgent(daemon.home, name, command, [...place, ...options]);
  };
  const node = (role: string) => () => start(role, [process.execPath, quietAgent, role]);
  const stream = (role: string) => () => start(role, fakeStream(role));
  const again = ["--restart", "on-failure"];
  const groups = [
    // Agents that beat are told where to: on a machine that is busy with all of them at once they may not find the
    // daemon in time.
    [node("worse")],
    [node("poller"), node("beater")],
    [
      stream("hang"),
      stream("loop"),
      stream("open-tool"),
      () => start("draft", fakeClaude("draft"), "--task", "task-of-draft"),
    ],
    [node("download"), node("request"), node("spinner"), node("job"), node("editor")],
    [
      () => start("sleeper", ["sleep", "3000"]),
      () => start("question", ["bash", "-c", 'read -p "Zielordner fuer die Ablage: " x']),
      () => start("crash", sh("echo up; exit 1"), ...again),
      () =>
        start(
          "idler",
          sh("[ $ROUSE_INCARNATION = 1 ] && exec sleep 3000; echo better"),
          "--idle-kill",
          "12s",
          ...again,
        ),
    ],
  ];
  for (const group of groups) await Promise.all(group.map((begin) => begin()));
});

afterAll(async () => {
  await cleanUp();
  expect(daemon.process.stderr()).not.toContain("a mistake in Rouse");
});

/** Whoever asks for `/slowly` gets 20 KB a second without end; every other request stays open without a byte. */
async function serve(): Promise<string> {
  const server: Server = createServer((request, response) => {
    if (request.url !== "/slowly") return;
    const timer = setInterval(() => response.write(Buffer.alloc(2000)), 100);
    response.on("close", () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterwards(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Found<T extends EventType> = Extract<SavedEvent, { type: T }>;

async function eventsOnce<T extends EventType>(agentId: string, type: T, times = 1): Promise<Found<T>[]> {
  return until(
    `${times} of ${type} of ${agentId}`,
    async () => {
      const found = (await eventsOf(daemon, agentId)).filter((event): event is Found<T> => event.type === type);
      return found.length >= times && found;
    },
    patience,
  );
}

const acts: readonly EventType[] = ["TERMINATION_ORDERED", "AGENT_TERMINATED", "RESTART_ORDERED", "PROCESS_EXITED"];

/** Its first process lives, and nobody has laid hands on it. */
async function expectUntouched(name: string): Promise<void> {
  const events = await eventsOf(daemon, name);
  const done = events.filter(({ type }) => acts.includes(type)).map(({ type, payload }) => ({ type, payload }));
  expect({ name, done }).toEqual({ name, done: [] });
  const held = holderOf(daemon.home, name);
  expect({ name, lives: agentLives(held), incarnation: held.incarnation }).toEqual({
    name,
    lives: true,
    incarnation: 1,
  });
}

// The first of all: its question is open for half a minute, in which the others come to theirs.
describe("an agent about which somebody was asked", () => {
  it("is not stopped before the time to answer is up, however much worse it becomes and whatever its owner's rule", async () => {
    await eventsOnce("worse", "ESCALATION_TRIGGERED");
    // Beside its folder: a file that changes below it would be a sign of life.
    writeFileSync(join(folder, "worse-is-silent"), "");
    const [ordered] = await eventsOnce("worse", "TERMINATION_ORDERED");
    expect(ordered?.payload).toMatchObject({ because: "missed-beats" });
    expect(ordered?.payload.evidence).toEqual(expect.arrayContaining(["absence", "owner-rule"]));
    const changes = await eventsOnce("worse", "HEALTH_STATE_CHANGED");
    const worsened = changes.find(({ payload }) => payload.to === "UNRESPONSIVE");
    const asked = (await eventsOnce("worse", "ESCALATION_TRIGGERED")).findLast(({ id }) => id < (worsened?.id ?? 0));
    const answerBy = Date.parse(asked?.time ?? "") + seconds(asked?.payload.answerWithinSeconds ?? 0);
    expect(Date.parse(worsened?.time ?? "")).toBeLessThan(answerBy);
    expect(Date.parse(ordered?.time ?? "")).toBeGreaterThanOrEqual(answerBy);
  });
});

describe("a healthy agent that is quiet", () => {
  const askedAbout = ["sleeper", "request", "spinner", "beater", "poller", "open-tool"];

  it.each(askedAbout)("is asked about, again when nobody answers, and runs on: %s", async (name) => {
    const asked = await eventsOnce(name, "ESCALATION_TRIGGERED", 2);
    const [first = 0, second = 0] = asked.map(({ payload }) => payload.answerWithinSeconds);
    expect(second).toBe(2 * first);
    await eventsOnce(name, "ESCALATION_UNANSWERED");
    await expectUntouched(name);
  });

  // By then the time of all is up: after it the ladder used to stop whoever had not been heard.
  it.each(["question", "download", "job", "editor", "draft"])(
    "runs on after the time of its ladder is up: %s",
    async (name) => {
      await eventsOnce("sleeper", "ESCALATION_UNANSWERED", 2);
      await expectUntouched(name);
    },
  );

  it("whose input holds a line that its person has not sent finds it unchanged", () => {
    expect(existsSync(join(folder, "draft", "typed"))).toBe(false);
  });

  it("is told of as quiet, and that this is not enough to act", async () => {
    const { findings, state } = await agentOnce(daemon, "sleeper", "is STUCK", (agent) => agent.state === "STUCK");
    expect(state).toBe("STUCK");
    expect(findings.map((finding) => finding.class)).toEqual(["absence"]);
    const [escalation] = await daemon.rouse.escalations({ agentId: "sleeper" });
    expect(escalation).toMatchObject({ otherwise: "keep-and-ask-again" });
  });
});

describe("a sick agent", () => {
  const hasFinished = ({ activity }: { activity: { kind: string } }): boolean => activity.kind === "FINISHED";

  async function expectBroughtBack(name: string, evidence: readonly string[]): Promise<void> {
    const [stopped] = await eventsOnce(name, "AGENT_TERMINATED");
    expect(stopped?.payload.evidence).toEqual(expect.arrayContaining([...evidence]));
    const agent = await agentOnce(daemon, name, "finishes in its next life", hasFinished);
    expect(agent.incarnation).toBe(2);
  }

  it("whose request to the model is open beyond its time-out without a byte is stopped and brought back", () =>
    expectBroughtBack("hang", ["absence", "overdue"]));

  it("that makes the same failing call again and again is stopped and brought back", () =>
    expectBroughtBack("loop", ["absence", "repetition"]));

  it("that shows no sign of work for as long as its owner allowed is stopped and brought back", () =>
    expectBroughtBack("idler", ["absence", "owner-rule"]));

  it("that crashes whenever it is started is handed to a person", async () => {
    const [exhausted] = await eventsOnce("crash", "RESTARTS_EXHAUSTED");
    expect(exhausted?.payload.attempts).toBe(3);
    const closed = await eventsOnce("crash", "INCIDENT_CLOSED");
    expect(closed.at(-1)?.payload).toMatchObject({ ending: "handed-to-a-person", because: "restarts-exhausted" });
  });
});
