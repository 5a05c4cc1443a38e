import {
  type AgentAnswer,
  type DecisionOutcome,
  type DecisionRequest,
  type EscalationDecision,
  type EscalationReport,
  type EscalationResult,
  type EventType,
  Fault,
  minutes,
  type NudgeResult,
  printable,
  toIso,
} from "@rouse/contract";
import { type AgentRecord, openEscalation, type Signal } from "@rouse/core";
import type { Config } from "../config/read-config.ts";
import type { Store } from "../ports/store.ts";
import { describeEscalation } from "./describe-incident.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { Roster, Watched } from "./roster.ts";
import type { Moment, SteadyClock } from "./steady-clock.ts";
import type { Turns } from "./turns.ts";

interface WordParts {
  readonly roster: Roster;
  readonly turns: Turns;
  readonly commits: GroupCommit;
  readonly store: Store;
  readonly clock: Pick<SteadyClock, "toWall">;
  readonly readClock: () => Moment;
  readonly config: () => Config;
}

/** What its tasks mean for an agent: a word to it, for whose answer nobody waits. */
export type TellAgent = (
  agentId: string,
  signal: Extract<Signal, { kind: "reflection-wanted" | "task-taken" }>,
  moment: Moment,
) => void;

/** What became of a decision; when it was not taken, who was before. */
export interface Decided {
  readonly outcome: DecisionOutcome;
  readonly by?: { readonly actor: string; readonly decision: EscalationDecision };
}

/** Words of people, of the orchestrator and of agents about agents: taken in, saved, and answered with what came of them. */
export function takeWords({ roster, turns, commits, store, clock, readClock, config }: WordParts) {
  function mustFind(agentId: string): Watched {
    const down = commits.down();
    if (down !== null) throw down;
    const watched = roster.find(agentId);
    if (watched === undefined) throw new Fault("agent-unknown", "no such agent; `rouse ps` lists those that are known");
    return watched;
  }

  async function tell(watched: Watched, signal: Signal): Promise<void> {
    turns.take(watched, signal, readClock());
    await commits.saved();
  }

  const tellAgent: TellAgent = (agentId, signal, moment) => {
    const watched = roster.find(agentId);
    if (watched !== undefined) turns.take(watched, signal, moment);
  };

  const report = (record: AgentRecord): EscalationReport | null =>
    describeEscalation(record, config().policyFor(record), clock.toWall);

  /** `worker-1.3` is the third question about worker-1; ids of agents may have dots themselves. */
  const agentOf = (escalation: string): string => escalation.slice(0, Math.max(0, escalation.lastIndexOf(".")));

  /** The question is not open: was it ever, and how did it end? */
  async function lookBack(escalation: string): Promise<Decided> {
    // Whoever was first may be on the way to the disk.
    await commits.saved();
    const agentId = agentOf(escalation);
    const types: EventType[] = ["ESCALATION_TRIGGERED", "ESCALATION_DECIDED"];
    const events = await store.readEvents({ agentId, types, limit: 1000, newestFirst: true });
    for (const event of events) {
      if (event.type !== "ESCALATION_DECIDED" || event.payload.escalation !== escalation) continue;
      return { outcome: "already-decided", by: { actor: event.payload.actor, decision: event.payload.decision } };
    }
    const asked = events.some(
      (event) => event.type === "ESCALATION_TRIGGERED" && event.payload.escalation === escalation,
    );
    return { outcome: asked ? "closed" : "unknown" };
  }

  const isOpen = (watched: Watched | undefined, escalation: string): watched is Watched =>
    watched !== undefined && openEscalation(watched.record)?.id === escalation;

  return {
    escalations: (): EscalationReport[] => [...roster.all()].flatMap(({ record }) => report(record) ?? []),
    /** The open question with its record, for whoever tells more about it. */
    findEscalation(escalation: string): { report: EscalationReport; record: AgentRecord } | null {
      const watched = roster.find(agentOf(escalation));
      if (!isOpen(watched, escalation)) return null;
      const found = report(watched.record);
      return found === null ? null : { report: found, record: watched.record };
    },
    lookBack,
    async decide(escalation: string, request: DecisionRequest): Promise<Decided> {
      const watched = roster.find(agentOf(escalation));
      if (!isOpen(watched, escalation)) return lookBack(escalation);
      mustFind(watched.record.agentId);
      const { decision, actor, reason } = request;
      const more = request.minutes === undefined ? null : minutes(request.minutes);
      await tell(watched, { kind: "decided", escalation, decision, actor, reason, more });
      return { outcome: "taken" };
    },
    async acknowledge(escalation: string, actor: string): Promise<Decided> {
      const watched = roster.find(agentOf(escalation));
      if (!isOpen(watched, escalation)) return lookBack(escalation);
      mustFind(watched.record.agentId);
      await tell(watched, { kind: "acknowledged", escalation, actor });
      return { outcome: "taken" };
    },
    async answer(agentId: string, answer: AgentAnswer, life: number | null): Promise<void> {
      const watched = mustFind(agentId);
      const { incarnation } = watched.record;
      if (life !== null && life !== incarnation)
        throw new Fault("forbidden", `incarnation ${life} of ${agentId} is over; the current one is ${incarnation}`);
      await tell(watched, { kind: "answered", answer });
    },
    tellAgent,
    async nudge(agentId: string, actor: string, message: string | null): Promise<NudgeResult> {
      const watched = mustFind(agentId);
      const before = watched.record.nudge;
      const text = message === null ? null : printable(message, 2000);
      await tell(watched, { kind: "nudge-ordered", actor, text });
      const { nudge } = watched.record;
      if (nudge === null || nudge.id === before?.id)
        return {
          agentId,
          nudge: null,
          state: "not-sent",
          channel: null,
          message: text ?? "",
          because: whyNot(watched.record),
        };
      return { agentId, nudge: nudge.id, state: nudge.state, channel: nudge.channel, message: nudge.text };
    },
    async escalate(agentId: string, actor: string, reason: string): Promise<EscalationResult> {
      const watched = mustFind(agentId);
      const { time } = readClock();
      turns.addToTrail({
        time,
        actor,
        action: "order-escalation",
        subject: agentId,
        reason,
        evidence: {},
        policy: null,
      });
      await tell(watched, { kind: "escalation-ordered", actor });
      const escalation = openEscalation(watched.record);
      if (escalation === null)
        throw new Fault(
          "order-refused",
          `${agentId} has finished, or is being stopped or brought back: there is nothing to ask about`,
        );
      const answerBy = toIso(clock.toWall(escalation.until));
      return { agentId, escalation: escalation.id, severity: escalation.severity, answerBy };
    },
  };
}

/** Of three reasons a person can do something about one, so they are told apart. */
function whyNot({ terminal, beats }: AgentRecord): string {
  if (terminal !== null && terminal.exit !== null) return "it has ended";
  const takesInput = terminal?.holder === "here" && terminal.input !== "none";
  if (beats.accepted > 0 || takesInput) return "all interventions are frozen; `rouse thaw` allows them again";
  return "it sends no heartbeats and takes no input";
}

export type Words = ReturnType<typeof takeWords>;
