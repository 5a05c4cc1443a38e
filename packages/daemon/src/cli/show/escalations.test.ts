import type { EscalationNotice, EscalationReport, NudgeResult } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type Line, paintLine, widthOf } from "../text/styled-text.ts";
import { showAsked, showEscalation, showEscalations, showNudge } from "./escalations.ts";
import { hostile, now, stuck } from "./sample.test-support.ts";

const plain = (lines: readonly Line[]): string => lines.map((line) => paintLine(line, false)).join("\n");

const report: EscalationReport = {
  id: "worker-1.3",
  agentId: "worker-1",
  incarnation: 2,
  taskId: "bd-288",
  incident: "worker-1/5",
  severity: "SEV-3",
  illness: "STUCK",
  cause: "no-progress",
  reason: "nudges-unanswered",
  openedAt: "2026-02-05T10:07:00.000Z",
  answerBy: "2026-02-05T10:22:00.000Z",
  acknowledgeBy: null,
  acknowledged: null,
  otherwise: "terminate-and-recover",
  askedBefore: 0,
  decisions: ["allow_more_time", "force_handoff", "terminate_and_recover"],
  summary: "worker-1 is STUCK: no new fact in 42 min of work",
};

const urgent: EscalationReport = {
  ...report,
  id: "build.worker-2.1",
  agentId: "build.worker-2",
  severity: "SEV-1",
  illness: "UNRESPONSIVE",
  cause: "missed-beats",
  reason: "not-supervised",
  answerBy: "2026-02-05T10:24:30.000Z",
  acknowledgeBy: "2026-02-05T10:14:30.000Z",
  acknowledged: { actor: "ada", at: "2026-02-05T10:09:00.000Z" },
  otherwise: "hand-to-a-person",
};

const noticeOf = (one: EscalationReport, words = "compile"): EscalationNotice =>
  ({
    ...one,
    context: {
      traceIds: [`escalation:${one.id}`, "incident:worker-1/5"],
      findings: stuck.findings,
      lastEvents: [
        {
          id: 7,
          time: "2026-02-05T10:07:00.000Z",
          type: "AGENT_ANSWERED",
          payload: { agentId: one.agentId, answer: { kind: "update", text: words } },
        },
      ],
      config: { policy: "default@1a2b3c4d", settings: { mode: "act" } },
      recovery: {
        supervised: true,
        checkpoint: { id: "c".repeat(64), step: 4, stepName: words, time: "2026-02-05T10:00:00.000Z" },
        recoveriesLeft: 2,
        restartsLeft: 3,
        options: [
          { decision: "allow_more_time", effect: "waits-longer" },
          { decision: "force_handoff", effect: "told-and-stopped" },
          { decision: "terminate_and_recover", effect: "resumes-after-checkpoint" },
        ],
      },
      hints: [
        { because: "no-progress", text: "nothing new has come of its work", command: "rouse logs worker-1 --tail 100" },
      ],
      answer: {
        path: "/api/v1/escalations/worker-1.3/decision",
        command: "rouse escalations decide worker-1.3 allow_more_time",
      },
    },
  }) as unknown as EscalationNotice;

describe("rouse escalations", () => {
  it("lists what waits for an answer, the most pressing first", () => {
    const later = { ...report, id: "worker-1.4", answerBy: "2026-02-05T10:30:00.000Z" };
    expect(plain(showEscalations([later, report, urgent], now, 140))).toBe(
      [
        "ID                SEVERITY  AGENT           WHY                                               ANSWER BY  OTHERWISE",
        "build.worker-2.1  SEV-1     build.worker-2  UNRESPONSIVE: missed beats; not started by Rouse  in 14 min  hand to a person",
        "worker-1.3        SEV-3     worker-1        STUCK: no progress; nudges unanswered             in 12 min  terminate and recover",
        "worker-1.4        SEV-3     worker-1        STUCK: no progress; nudges unanswered             in 20 min  terminate and recover",
      ].join("\n"),
    );
  });

  it("calls nobody ill of whom nothing was found: somebody has a question", () => {
    const question = { ...report, illness: "DEGRADED", cause: "registered", reason: "ordered" } as const;
    expect(plain(showEscalations([question], now, 140))).toContain("a question, nothing found; ordered");
    expect(plain(showEscalation(noticeOf(question, "words"), now, 140))).not.toContain("DEGRADED");
  });

  it("says so when nothing does", () => {
    expect(plain(showEscalations([], now, 80))).toBe("Nothing waits for an answer.");
  });

  it("fits any terminal", () => {
    const long = { ...urgent, id: `${"a".repeat(128)}.7`, agentId: "a".repeat(128) };
    for (const width of [40, 60, 80, 120]) {
      const lines = [
        ...showEscalations([long, report], now, width),
        ...showEscalation(noticeOf(long, "word ".repeat(50)), now, width),
        ...showAsked(
          { agentId: long.agentId, escalation: long.id, severity: "SEV-1", answerBy: long.answerBy },
          now,
          width,
        ),
      ];
      for (const line of lines) expect(widthOf(paintLine(line, false))).toBeLessThanOrEqual(width);
    }
  });
});

describe("rouse escalations show", () => {
  it("tells who, why, until when, what each decision would do, what may help and how to answer", () => {
    const text = plain(showEscalation(noticeOf(report), now, 120));
    for (const part of [
      "SEV-3 worker-1.3 worker-1 is STUCK: no new fact in 42 min of work",
      "agent      worker-1, incarnation 2",
      "task       bd-288",
      "asked      2026-02-05T10:07:00Z (3 min ago): nudges unanswered",
      "answer by  2026-02-05T10:22:00Z (in 12 min), otherwise terminate and recover",
      "policy     default@1a2b3c4d, mode act",
      "stuck no-progress (90 %): no new fact in 42 min of work",
      "allow_more_time        it gets more time",
      "terminate_and_recover  its work is saved, it is stopped and goes on after its checkpoint",
      "checkpoint             cccccccccccc, after step 4, compile",
      "left                   2 recoveries, 3 restarts",
      "no progress: nothing new has come of its work\n    rouse logs worker-1 --tail 100",
      "#7  AGENT_ANSWERED  worker-1  update: compile",
      "To answer\n  rouse escalations decide worker-1.3 allow_more_time",
    ]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain("a person by");
  });

  it("says by when a person must have seen it, and who has", () => {
    const text = plain(showEscalation(noticeOf(urgent), now, 120));
    expect(text).toContain("a person by   2026-02-05T10:14:30Z (in 4 min)");
    expect(text).toContain("acknowledged  by ada, 2026-02-05T10:09:00Z (60 s ago)");
  });
});

describe("rouse nudge", () => {
  const sent: NudgeResult = {
    agentId: "worker-1",
    nudge: "worker-1/2/nudge/1",
    state: "queued",
    channel: "acknowledgement",
    message: "REMINDER: go on.\n- Report blockers",
  };

  it("says by which way it goes, and the words", () => {
    expect(plain(showNudge(sent, 200))).toBe(
      [
        "worker-1 is to be nudged by the answer to its next heartbeat (queued); `rouse events -f --agent worker-1` tells what comes of it.",
        "  REMINDER: go on.",
        "  - Report blockers",
      ].join("\n"),
    );
  });

  it("says why not", () => {
    const none: NudgeResult = { ...sent, nudge: null, state: "not-sent", channel: null, because: "all is frozen" };
    expect(plain(showNudge(none, 80))).toBe("worker-1 was not nudged: all is frozen");
  });
});

describe("text that somebody made up", () => {
  it("brings no control character into any of it", () => {
    const named = {
      ...urgent,
      acknowledged: { actor: hostile, at: urgent.openedAt },
      summary: hostile,
      taskId: hostile,
    };
    const lines = [
      ...showEscalations([{ ...named, agentId: hostile, id: hostile }], now, 100),
      ...showEscalation(noticeOf({ ...named, agentId: hostile }, hostile), now, 100),
      ...showNudge({ agentId: hostile, nudge: null, state: "sent", channel: null, message: hostile }, 100),
      ...showNudge(
        { agentId: hostile, nudge: null, state: "not-sent", channel: null, message: "", because: hostile },
        100,
      ),
      ...showAsked({ agentId: hostile, escalation: hostile, severity: "SEV-1", answerBy: urgent.answerBy }, now, 100),
    ];
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(plain(lines)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  });
});
