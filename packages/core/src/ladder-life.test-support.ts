import type { EscalationDecision, PartialSettings, PolicyMode, Sight, StepEvent } from "@rouse/contract";
import { heldStory } from "./held-story.test-support.ts";
import type { Action, ActionOutcome } from "./signal.ts";
import { ms, type Story, type StoryGiven, story } from "./story.test-support.ts";

/** Every clock of the ladder in seconds, so that a random life of some minutes climbs all of it. */
export const hasty: PartialSettings = {
  heartbeat: { interval_seconds: 10, idle_interval_seconds: 15, grace_seconds: 1, startup_grace_seconds: 10 },
  health_check: {
    checkpoint_stale_threshold_seconds: 60,
    no_tool_call_seconds: 40,
    zero_tokens_seconds: 40,
    task_not_started_seconds: 20,
  },
  activity: { input_wait_seconds: 60, provider_wait_seconds: 40, children_wait_seconds: 50, open_tool_seconds: 30 },
  restart: { cooldown_seconds: 20, max_attempts: 2, escalation_window_seconds: 200 },
  recovery: { max_attempts_per_task: 2, max_attempts_per_hour: 3, backoff_seconds: [10, 20], probation_seconds: 45 },
  intervention: {
    nudge: { interval_seconds: 20 },
    escalation: { timeout_seconds: 30, unchanged_after_seconds: 60 },
  },
  escalation: { ack_sla_seconds: 15 },
  loops: { identical_step: { suspect: 2, stuck: 3 } },
  terminal: {
    idle_timeout_minutes: 0.5,
    completion_timeout_minutes: 0.4,
    repeated_error_threshold: 2,
    repeated_error_window_minutes: 0.75,
  },
};

/** How long an incident may stay open, with these clocks, when everybody does their part and nobody speaks. */
export const longestIncident = ms("10m");

export type Step =
  | { readonly do: "wait" | "live"; readonly seconds: number }
  | { readonly do: "beat"; readonly answer: "update" | "handoff" | "blocker" | null; readonly said: number }
  | { readonly do: "report"; readonly sights: readonly Sight[] }
  | { readonly do: "step"; readonly same: boolean }
  | { readonly do: "exit"; readonly code: number; readonly cause: "by-itself" | "person" | "stopped" | "killed" }
  | { readonly do: "lose"; readonly process: "gone" | "alive" }
  | { readonly do: "return" | "start-again" | "register" | "acknowledge" | "be-nudged" | "be-escalated" | "checkpoint" }
  | { readonly do: "attach"; readonly terminals: number }
  | { readonly do: "processes"; readonly are: "quiet" | "busy" | "unknown" }
  | { readonly do: "order"; readonly order: "stop" | "restart"; readonly force: boolean; readonly again: boolean }
  | { readonly do: "decide"; readonly decision: EscalationDecision; readonly right: boolean }
  | { readonly do: "answer"; readonly kind: "update" | "handoff" | "blocker" }
  | { readonly do: "hands"; readonly which: number; readonly how: number }
  | { readonly do: "blind"; readonly seconds: number }
  | { readonly do: "freeze" | "hold" | "block-critical"; readonly on: boolean }
  | { readonly do: "brake"; readonly seconds: number }
  | { readonly do: "mode"; readonly mode: PolicyMode };

export interface Kind {
  readonly held: boolean;
  readonly mode: PolicyMode;
  readonly protected: boolean;
  readonly task: boolean;
  readonly input: "stdin" | "terminal" | "none";
  readonly foreground: boolean;
  readonly killsForErrors: boolean;
  readonly killsIdle: boolean;
  readonly acceptsUnsaved: boolean;
  /**
   * The hands do at once what they are told, and it works; otherwise they answer when a step says so, anything, and not
   * always once.
   */
  readonly promptHands: boolean;
  /** Outcomes that prompt hands never have. */
  readonly cannot: Action["kind"] | null;
}

const settingsOf = (kind: Kind, mode: PolicyMode): PartialSettings => ({
  ...hasty,
  mode,
  protected: kind.protected,
  intervention: { ...hasty.intervention, termination: { accept_failed_snapshot: kind.acceptsUnsaved } },
  terminal: {
    ...hasty.terminal,
    auto_kill_on_repeated_error: kind.killsForErrors,
    auto_kill_on_idle: kind.killsIdle,
  },
});

/** Everything that can happen to one agent. */
export function ladderLife(kind: Kind, given: StoryGiven = {}) {
  let isPrompt = kind.promptHands;
  const doAsTold = (action: Action): ActionOutcome | null => (isPrompt ? carryOut(action) : null);
  const settings = settingsOf(kind, kind.mode);
  const all = { preset: "fleet", settings, hands: doAsTold, ...(kind.task ? { taskId: "t1" } : {}), ...given } as const;
  const held = kind.held ? heldStory({ ...all, hold: { input: kind.input, foreground: kind.foreground } }) : null;
  const agent: Story = held?.agent ?? story(all);
  let numbered = 0;

  function carryOut(action: Action): ActionOutcome | null {
    // A person's order is tried until it is done.
    const isOrdered = action.kind === "stop-agent" && !action.spends;
    if (kind.cannot === action.kind && !isOrdered) return failures[action.kind]?.() ?? null;
    if (action.kind === "stop-agent" && agent.record.seen.terminal?.exit === null)
      held?.exits({ signal: "SIGTERM", cause: "stopped" });
    if (action.kind === "restart-agent") held?.startsAgain();
    const answer = answers[action.kind]?.[action.kind === "restart-agent" ? 1 : 0];
    return answer?.(agent.record.life.incarnation) ?? null;
  }

  /** From here on everybody does their part, and nobody says or does anything else. */
  function calmsDown(): void {
    isPrompt = true;
    agent.monitorDoubts({ frozen: false, hold: null, brake: null, criticalBlocked: 0 });
    const { stop, restart } = agent.record.ending;
    const { nudge } = agent.record.ladder;
    const { terminal } = agent.record.seen;
    // An outcome of "stopped" or "already over" was true.
    if (terminal?.exit === null && (stop?.outcome?.kind === "stopped" || stop?.outcome?.kind === "already-over"))
      held?.exits({ signal: "SIGTERM", cause: "stopped" });
    const pending = [
      ...(stop?.saved === null ? [`${stop.key}/work`] : []),
      ...(stop !== null && stop.orderedAt !== null ? [stop.key] : []),
      ...(restart?.problem === null ? [restart.key] : []),
      ...(nudge?.state === "queued" ? [nudge.id] : []),
    ];
    for (const action of agent.actions.filter(({ key }) => pending.includes(key))) {
      const outcome = carryOut(action);
      if (outcome !== null) agent.take({ kind: "action-outcome", key: action.key, outcome });
    }
  }

  const brakeFor = (seconds: number) =>
    agent.monitorDoubts({
      brake: seconds === 0 ? null : { because: "host-budget", until: agent.now + seconds * 1000 },
    });

  function hands({ which, how }: Extract<Step, { do: "hands" }>): void {
    const asked = agent.actions.filter(({ kind }) => answers[kind] !== undefined);
    const action = asked[asked.length - 1 - (which % Math.max(1, asked.length))];
    const possible = action === undefined ? undefined : answers[action.kind];
    const outcome = possible?.[how % possible.length]?.(agent.record.life.incarnation);
    if (action !== undefined && outcome !== undefined) agent.take({ kind: "action-outcome", key: action.key, outcome });
  }

  function live(one: Step): void {
    switch (one.do) {
      case "wait":
        return agent.silentFor(one.seconds * 1000);
      case "live":
        return held === null ? agent.silentFor(one.seconds * 1000) : held.passes(`${one.seconds}s`);
      case "beat": {
        const answer = one.answer === null ? {} : { answer: { kind: one.answer } };
        const open = agent.record.ladder.nudge;
        const seen = open === null || one.said % 2 === 0 ? {} : { seen: [open.id] };
        return void agent.beats({ progressIndicator: `p${one.said}`, ...answer, ...seen });
      }
      case "report":
        return void held?.report(one.sights);
      case "step": {
        const args = one.same ? "same" : `${numbered++}`;
        const call: StepEvent = { kind: "tool_call", tool: "shell", id: null, args_digest: args };
        const result: StepEvent = { kind: "tool_result", id: null, text_digest: args, failed: one.same };
        return void agent.take({ kind: "stepped", events: [call, result] });
      }
      case "exit":
        return void held?.exits({ code: one.code, cause: one.cause });
      case "lose":
        return void held?.holderIsLost(one.process);
      case "return":
        return void (held === null ? null : agent.take({ kind: "held", hold: held.holdOf(), adopted: true }));
      case "start-again":
        if (held !== null && agent.record.seen.terminal?.exit !== null) held.startsAgain();
        return;
      case "register":
        return void agent.registers();
      case "attach":
        return void held?.personAttaches(one.terminals);
      case "processes":
        return held?.processesAre(one.are);
      case "order": {
        const key =
          one.again && agent.record.ending.stop?.cause === "ordered"
            ? agent.record.ending.stop.key
            : `order-${++numbered}`;
        return void agent.take({ kind: "ordered", order: one.order, key, actor: "operator", force: one.force });
      }
      case "decide":
        return void agent.decides(one.decision, { more: "40s", ...(one.right ? {} : { escalation: "worker-1.1" }) });
      case "acknowledge":
        return void agent.acknowledges();
      case "answer":
        return void agent.answers(one.kind);
      case "be-nudged":
        return void agent.isNudgedBy("operator", "please look at the log");
      case "be-escalated":
        return void agent.isEscalatedBy("operator");
      case "checkpoint":
        return void agent.savesCheckpoint(`c${numbered++}`);
      case "hands":
        return hands(one);
      case "blind":
        agent.monitorIsBlindFor(`${one.seconds + 1}s`);
        return agent.monitorDoubts({});
      case "freeze":
        return agent.monitorDoubts({ frozen: one.on });
      case "hold":
        return agent.monitorDoubts({
          hold: one.on ? { because: "mass-silence", since: agent.now, provenAt: null } : null,
        });
      case "block-critical":
        return agent.monitorDoubts({ criticalBlocked: one.on ? 2 : 0 });
      case "brake":
        return brakeFor(one.seconds);
      case "mode":
        agent.policyBecomes(settingsOf(kind, one.mode));
        return agent.monitorDoubts({});
    }
  }

  return { agent, held, live, calmsDown };
}

export type LadderLife = ReturnType<typeof ladderLife>;

type Answer = (incarnation: number) => ActionOutcome;

/** What the hands can say to each kind of action. */
const answers: Readonly<Partial<Record<Action["kind"], readonly Answer[]>>> = {
  "save-work": [
    () => ({ kind: "work", work: { kind: "nothing-to-save" } }),
    () => ({ kind: "work", work: { kind: "saved", commit: "c0ffee", changed: 3 } }),
    () => ({ kind: "work", work: { kind: "not-saved", problem: "no git" } }),
  ],
  "stop-agent": [
    () => ({ kind: "stop", stop: { kind: "stopped", forced: false, processes: 1 } }),
    () => ({ kind: "stop", stop: { kind: "already-over" } }),
    () => ({ kind: "stop", stop: { kind: "termination_incomplete", survivors: [{ pid: 7, name: "x" }] } }),
    () => ({ kind: "stop", stop: { kind: "refused", because: "identity-changed" } }),
    () => ({ kind: "stop", stop: { kind: "refused", because: "too-late" } }),
    () => ({ kind: "interrupted" }),
  ],
  "restart-agent": [
    () => ({ kind: "not-restarted", problem: "no such program" }),
    (incarnation) => ({ kind: "restarted", incarnation: incarnation + 1, recovery: null }),
    (incarnation) => ({ kind: "restarted", incarnation: incarnation + 1, recovery: context }),
  ],
  "nudge-agent": [
    () => ({ kind: "nudge", delivery: { kind: "sent", channel: "terminal", echoed: true } }),
    () => ({ kind: "nudge", delivery: { kind: "not-sent", because: "asks" } }),
  ],
  escalate: [() => "delivered", () => ({ kind: "undelivered", problem: "refused" })],
  "raise-alert": [() => "delivered"],
};

const failures: Readonly<Partial<Record<Action["kind"], () => ActionOutcome>>> = {
  "save-work": () => ({ kind: "work", work: { kind: "not-saved", problem: "no git" } }),
  "stop-agent": () => ({ kind: "interrupted" }),
  "restart-agent": () => ({ kind: "not-restarted", problem: "no such program" }),
  "nudge-agent": () => ({ kind: "nudge", delivery: { kind: "not-sent", because: "asks" } }),
  escalate: () => ({ kind: "undelivered", problem: "refused" }),
};

const context = {
  taskId: "t1",
  checkpoint: "c4",
  step: 4,
  stepName: "build",
  reason: "STUCK",
  lost: { checkpoints: 0, steps: 0, flaws: [], startsOver: false },
  attempt: 1,
  stateFile: null,
  workspace: null,
};
