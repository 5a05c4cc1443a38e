import { type AgentHealth, type EventType, eventTypes, type RouseEvent } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { writeJson } from "../surroundings.ts";
import { type Line, paintLine, styled, widthOf } from "../text/styled-text.ts";
import { showAgents } from "./agents.ts";
import { describeEvent, showEvent } from "./describe-event.ts";
import { describeRestraint } from "./doubt.ts";
import { healthDocument, showHealth, showSummary } from "./health.ts";
import { healthy, heldFor, hostile, now, status, stuck, why } from "./sample.test-support.ts";
import { showStatus } from "./status.ts";
import { showWhy } from "./why.ts";

const plain = (lines: readonly Line[]): string => lines.map((line) => paintLine(line, false)).join("\n");

describe("rouse ps", () => {
  it("shows who does what, worker-2 before worker-10", () => {
    const second = { ...healthy, agentId: "worker-2" };
    expect(plain(showAgents([healthy, second, stuck], now, 120))).toBe(
      [
        "AGENT      STATE    ACTIVITY               HEARD     TASK    INCARNATION  NODE",
        "worker-1   STUCK    RUNNING tool npm test  12 s ago  bd-288  3            build-1",
        "worker-2   HEALTHY  WAITING for provider   –         –       3            –",
        "worker-10  HEALTHY  WAITING for provider   –         –       3            –",
      ].join("\n"),
    );
  });

  it("says when an agent was last heard, by whatever it was", () => {
    const heard = (lastHeard: string | null) =>
      plain(showAgents([{ ...stuck, lastHeartbeat: null, lastHeard }], now, 120)).includes(" s ago ");
    expect(heard(null)).toBe(false);
    expect(heard(new Date(now - 7000).toISOString())).toBe(true);
  });

  const over = (agentId: string, how: "finished" | "exited", code: number): AgentHealth => ({
    ...healthy,
    agentId,
    activity: { kind: how === "finished" ? "FINISHED" : "EXITED", since: "2026-02-05T10:00:00.000Z" },
    over: { how, code, signal: null, at: "2026-02-05T10:00:00.000Z" },
  });
  const ended = [over("done-1", "finished", 0), over("done-2", "finished", 0), over("broken", "exited", 7)];

  it("leaves out who is over, and says how many and how they ended", () => {
    const lines = plain(showAgents([...ended, stuck], now, 120)).split("\n");
    expect(lines.map((line) => line.split(" ")[0])).toEqual(["AGENT", "worker-1", "3"]);
    expect(lines.at(-1)).toBe("3 are over: 2 finished, 1 exited 7; `rouse ps --all` shows them");
    expect(plain(showAgents(ended.slice(2), now, 120))).toBe(
      "Nobody is there any more.\n1 is over: exited 7; `rouse ps --all` shows it",
    );
  });

  it("shows who is over when asked for all, each with the word for its end and without an activity", () => {
    expect(
      plain(showAgents(ended, now, 120, { all: true, filtered: false }))
        .split("\n")
        .slice(1),
    ).toEqual([
      "broken  exited 7  –         –      –     3            –",
      "done-1  FINISHED  –         –      –     3            –",
      "done-2  FINISHED  –         –      –     3            –",
    ]);
  });

  it("keeps who is over in sight while a person is called for it", () => {
    const handedOver = { incident: "i", because: "restarts-exhausted", at: "2026-02-05T10:00:00.000Z" } as const;
    const called = { ...over("broken", "exited", 7), handedOver };
    expect(plain(showAgents([called], now, 120))).toMatch(/^broken +exited 7 +needs you: restarts exhausted/m);
    const settled = { ...called, handedOver: { ...handedOver, because: "ended-by-person" as const } };
    expect(plain(showAgents([settled], now, 120))).not.toMatch(/^broken/m);
  });

  it("keeps agent, state and activity in a narrow terminal, and leaves out the others one by one", () => {
    const titles = (width: number) =>
      (plain(showAgents([stuck, healthy], now, width)).split("\n")[0] ?? "").split(/ +/);
    expect(titles(200)).toEqual(["AGENT", "STATE", "ACTIVITY", "HEARD", "TASK", "INCARNATION", "NODE"]);
    expect(titles(80)).toEqual(["AGENT", "STATE", "ACTIVITY", "HEARD", "TASK", "INCARNATION", "NODE"]);
    expect(titles(60)).toEqual(["AGENT", "STATE", "ACTIVITY", "HEARD", "TASK"]);
    expect(titles(50)).toEqual(["AGENT", "STATE", "ACTIVITY"]);
    const silent: AgentHealth = { ...stuck, agentId: "a".repeat(40), state: "UNRESPONSIVE" };
    const asks = {
      ...silent,
      terminal: { ...heldFor(null), needsYou: { what: "permission", since: silent.stateChangedAt } },
    } as const;
    expect(plain(showAgents([asks], now, 40)).split("\n")[1]).toBe("aaaaaaaaa…  UNRESPO…  needs you: permis…");
  });

  it("says in one row each what keeps Rouse from acting, however narrow the terminal", () => {
    const frozen = { since: "2026-02-05T10:09:00.000Z", actor: "ada", reason: "lunch with the whole team" };
    const doubt = { ...status.monitor, frozen, amnestyUntil: "2026-02-05T10:12:00.000Z" };
    const rows = (width: number) => plain(describeRestraint(doubt, now, width)).split("\n");
    expect(rows(200)).toEqual([
      "FROZEN for 60 s (`rouse thaw` ends it): lunch with the whole team",
      "ON HOLD (node build-1) for 60 s: many fell silent at once, which points to the way between them and the monitor",
      "amnesty for another 2m 00s, no agent is judged by its silence: the machine slept for 5 min",
    ]);
    expect(rows(40).map((row) => row.length)).toEqual([40, 40, 40]);
    expect(describeRestraint({ ...status.monitor, holds: [] }, now, 80)).toEqual([]);
  });

  it("ends no row with a space that a terminal would put into the next one, in colours either", () => {
    expect(paintLine([styled("dim", "a b "), " "], true)).toBe("\x1b[2ma b\x1b[0m");
  });

  it("says how to get an agent when there is none", () => {
    expect(plain(showAgents([], now, 80))).toMatch(/rouse run.*heartbeat/);
  });

  it("fits any terminal", () => {
    const long = { ...stuck, agentId: "a".repeat(128), taskId: "t".repeat(128), node: "日".repeat(60) };
    for (const width of [40, 60, 80, 100]) {
      for (const line of showAgents([long, healthy], now, width)) {
        expect(widthOf(paintLine(line, false))).toBeLessThanOrEqual(width);
      }
    }
  });
});

describe("rouse health", () => {
  it("answers with the four fields scripts know, then everything", () => {
    const document = healthDocument(stuck);
    expect(Object.keys(document).slice(0, 4)).toEqual(["agent", "status", "last_output", "errors"]);
    expect(document).toMatchObject({
      agent: "worker-1",
      status: "stuck",
      last_output: "2026-02-05T10:09:48.000Z",
      errors: ["no new fact in 42 min of work"],
      state: "STUCK",
    });
  });

  it("shows the same to a person", () => {
    expect(
      plain(showHealth(stuck, now, 100))
        .split("\n")
        .slice(0, 7),
    ).toEqual([
      "agent           worker-1",
      "status          stuck",
      "last heartbeat  2026-02-05T10:09:48Z (12 s ago)",
      "errors          no new fact in 42 min of work",
      "state           STUCK, no-progress",
      "since           2026-02-05T09:58:00Z (12 min ago)",
      "activity        RUNNING tool npm test, for 50 min",
    ]);
  });

  it("shows the rule an agent's owner made when it was started", () => {
    expect(plain(showHealth({ ...stuck, terminal: heldFor(1800) }, now, 100))).toMatch(
      /^owner's rule +stopped after 30 min without any sign of work$/m,
    );
    expect(plain(showHealth({ ...stuck, terminal: heldFor(null) }, now, 100))).not.toContain("owner's rule");
  });

  it("does not say that there are no errors of one that failed, and says it of one that is done", () => {
    const errors = (code: number): string | undefined => {
      const over = { how: "exited", code, signal: null, at: "2026-02-05T10:00:00.000Z" } as const;
      return /^errors.*$/m.exec(plain(showHealth({ ...healthy, over }, now, 100)))?.[0];
    };
    expect(errors(7)).toBeUndefined();
    expect(errors(0)).toMatch(/ none$/);
  });

  it("counts by state, says what the monitor doubts, and lists the worst first", () => {
    const text = plain(showSummary(status, [healthy, stuck], now, 100));
    expect(text).toContain("  HEALTHY 1  STUCK 1");
    expect(text).toContain("on hold (node build-1) for 60 s: many fell silent at once");
    expect(text.indexOf("worker-1 ")).toBeLessThan(text.indexOf("worker-10"));
  });

  it("gives no reason for who is over and was never ill, in whichever of its lives", () => {
    const over = { how: "finished", code: 0, signal: null, at: "2026-02-05T10:00:00.000Z" } as const;
    for (const stateReason of ["registered", "new-incarnation"] as const)
      expect(plain(showSummary(status, [{ ...healthy, over, stateReason }], now, 100))).toMatch(
        /^worker-10 +FINISHED +10 min ago +–$/m,
      );
  });
});

describe("rouse status", () => {
  const agents = (total_agents: number, agents_by_state: object, agents_over: object): string => {
    const answer = { ...status, total_agents, agents_by_state, agents_over };
    const report = {
      life: "ready",
      home: "/h",
      daemon: null,
      url: "http://h",
      held: [],
      left: [],
      lastWords: "",
    } as const;
    return /^agents +(.*)$/m.exec(plain(showStatus({ ...report, answer, problems: [] }, now, 100)))?.[1] ?? "";
  };

  it("counts everybody, those that are over too", () => {
    expect(agents(13, { HEALTHY: 4, DEGRADED: 1, TERMINATED: 2 }, { finished: 3, exited: 3 })).toBe(
      "13: HEALTHY 4, DEGRADED 1, TERMINATED 2, finished 3, exited 3",
    );
    expect(agents(2, {}, { finished: 2 })).toBe("2: finished 2");
    expect(agents(0, {}, {})).toBe("0");
  });
});

describe("rouse why", () => {
  it("names what degrades an agent, although it is no evidence for a stop", () => {
    const text = (agent: Partial<AgentHealth>): string =>
      plain(showWhy({ ...why, agent: { ...healthy, ...agent }, outlook: { ...why.outlook, evidence: [] } }, now, 120));
    expect(text({})).toContain("nothing was found against it");
    const { findings } = stuck;
    const degraded = text({ state: "DEGRADED", stateReason: "no-progress", findings });
    expect(degraded).toContain("not enough to stop it: no new fact in 42 min of work");
    expect(degraded).not.toContain("nothing was found against it");
    expect(text({ state: "DEGRADED", stateReason: "no-progress" })).toContain("not enough to stop it: no progress");
  });

  it("gives the verdict, its evidence, what is held back, the clocks and the doubts", () => {
    const text = plain(showWhy(why, now, 120));
    for (const part of [
      "worker-1 is STUCK since 2026-02-05T09:58:00Z (12 min ago): no-progress, no new fact in 42 min of work",
      "stuck no-progress (90 %): no new fact in 42 min of work",
      "absence · workedSeconds 2520 · staleAfterSeconds 1800 · for 12 min",
      "held back: the monitor was blind for a while",
      "silent            12 s of 15 min allowed",
      "without progress  42 min, clock running",
      "next look         in 30 s",
      "accepted 120 · duplicates 1 · stale 0 · refused 0 · lost 2 · its clock is 1.5 s behind",
      "default@1a2b3c4d, mode act",
      "blind for 5 min until 2 min ago: the machine slept",
    ]) {
      expect(text).toContain(part);
    }
    expect(text.indexOf("#7 ")).toBeLessThan(text.indexOf("#12 "));
  });

  it("does not say that nothing was seen of an agent that prints and tells of no progress", () => {
    const eyes = [{ eye: "output", says: "at-work", at: "2026-02-05T10:09:58.000Z" }] as const;
    const clocks = { ...why.clocks, withoutProgressSeconds: null };
    const text = plain(showWhy({ ...why, clocks, eyes: [...eyes] }, now, 120));
    expect(text).toMatch(/^ {2}progress +it told of none yet, clock running$/m);
    expect(text).toContain("its output: at work 2 s ago");
    expect(text).not.toMatch(/without progress|nothing seen/);
  });

  it("puts the steps side by side when something in them repeats, and only then", () => {
    const step = (
      event: number,
      tool: string | null,
      args: string | null,
      result: string | null,
      evidence: boolean,
    ) => ({
      event,
      tool,
      args,
      result,
      failed: tool === null ? null : evidence,
      evidence,
    });
    const steps = [
      step(3, "Read", "A", "A", false),
      step(5, "Bash", "B", "B", true),
      step(7, "Bash", "B", "B~", true),
      step(8, null, null, "C", false),
      step(10, "Bash", null, null, false),
    ];
    const text = plain(showWhy({ ...why, steps }, now, 120));
    expect(text).toContain(
      [
        "Steps",
        "     EVENT  TOOL    ARGS  RESULT  FAILED",
        "     3      Read    A     A       no",
        "  *  5      Bash    B     B       yes",
        "  *  7      Bash    B     B~      yes",
        "     8      (says)        C       ?",
        "     10     Bash    ?     ?       no",
      ].join("\n"),
    );
    const quiet = steps.map((one) => ({ ...one, evidence: false }));
    expect(plain(showWhy({ ...why, steps: quiet }, now, 120))).not.toContain("EVENT");
    const narrow = showWhy({ ...why, steps: [step(1, hostile.repeat(9), "A", "A", true)] }, now, 50);
    for (const line of narrow) expect(widthOf(paintLine(line, false))).toBeLessThanOrEqual(50);
  });

  it("wraps at words in a narrow terminal", () => {
    for (const line of showWhy(why, now, 50)) expect(widthOf(paintLine(line, false))).toBeLessThanOrEqual(50);
  });
});

it("shows what an agent says of its work, in `rouse health` and `rouse why`, once it said so", () => {
  const agent = { ...stuck, phase: "reviewing", progress: "12 of 40 files" };
  for (const lines of [showHealth(agent, now, 80), showWhy({ ...why, agent }, now, 80)]) {
    expect(plain(lines)).toMatch(/its phase +reviewing/);
    expect(plain(lines)).toMatch(/its progress +12 of 40 files/);
  }
  expect(plain(showHealth(stuck, now, 80))).not.toContain("its p");
});

describe("text that an agent made up", () => {
  const finding = {
    ...(stuck.findings[0] as (typeof stuck.findings)[number]),
    text: hostile,
    evidence: { [hostile]: hostile },
  };
  const words = { phase: hostile, progress: hostile };
  const agent = { ...stuck, ...words, taskId: hostile, node: hostile, findings: [finding] };

  it("brings no control character into any output", () => {
    const lines = [
      ...showAgents([agent], now, 80),
      ...showHealth(agent, now, 80),
      ...showSummary(status, [agent], now, 80),
      ...showWhy({ ...why, agent, policy: { id: hostile, mode: hostile } }, now, 80),
      ...eventTypes.map((type) => showEvent({ ...sampleEvent(type), id: 1, time: hostile })),
    ];
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(plain(lines)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    // With colours, the only sequences are those that set and end a colour.
    const painted = lines.map((line) => paintLine(line, true)).join("\n");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
    expect(painted.replaceAll(/\u001b\[\d{1,2}m/g, "")).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it("is the same in JSON, but spelt so that a terminal does not act on it", () => {
    const text = writeJson({ text: hostile }, 0);
    expect(text).toMatch(/^[\x20-\x7e]*$/);
    expect(JSON.parse(text)).toEqual({ text: hostile });
  });
});

describe("an event", () => {
  it("is one line with its time, id, type, agent and meaning", () => {
    const event: RouseEvent = {
      type: "HEARTBEAT_MISSED",
      payload: { agentId: "worker-1", missed: 1, silentSeconds: 402 },
    };
    expect(plain([showEvent({ ...event, id: 5, time: "2026-02-05T10:09:48.123Z" })])).toBe(
      "2026-02-05T10:09:48Z  #5  HEARTBEAT_MISSED  worker-1  1 beat missed, silent for 6 min",
    );
  });

  it("is shown even when a newer daemon made it up", () => {
    const event = { type: "AGENT_NUDGED", payload: { agentId: "worker-1", attempt: 2 } } as unknown as RouseEvent;
    expect(describeEvent(event)).toBe('{"agentId":"worker-1","attempt":2}');
  });
});

/** One event of each type with hostile text wherever a text may stand. */
function sampleEvent(type: EventType): RouseEvent {
  const payload = {
    agentId: hostile,
    taskId: hostile,
    incarnation: 1,
    from: "HEALTHY",
    to: "STUCK",
    because: hostile,
    reason: hostile,
    findings: [{ text: hostile }],
    processes: [{ pid: 7, name: hostile }],
    progressIndicator: hostile,
    status: "RUNNING",
    summary: hostile,
    severity: "critical",
    alert: hostile,
    version: hostile,
    cause: hostile,
    detail: hostile,
    scope: hostile,
    policy: hostile,
    problems: [hostile],
    problem: hostile,
    pattern: hostile,
    signal: hostile,
    survivors: [{ pid: 1, name: hostile }],
    actor: hostile,
    missed: 1,
    silentSeconds: 1,
    count: 1,
    afterSequence: 1,
    beforeSequence: 3,
    sequenceNumber: 1,
    illForSeconds: 1,
    lastedSeconds: 1,
    agents: 1,
    resumed: true,
    silent: 1,
    of: 2,
    chain: [hostile],
    evidence: hostile,
    how: hostile,
    snapshot: hostile,
    checkpoint: hostile,
    commit: hostile,
    incident: hostile,
    illness: hostile,
    ending: hostile,
    nudge: hostile,
    message: hostile,
    template: hostile,
    channel: hostile,
    answer: { kind: hostile, text: hostile },
    escalation: hostile,
    decision: hostile,
    fromCheckpoint: hostile,
    lost: { checkpoints: 1 },
    stepName: hostile,
    priority: hostile,
  };
  return { type, payload } as unknown as RouseEvent;
}
