import type {
  ExitStatus,
  HolderInfo,
  HolderReport,
  NudgeDelivery,
  ProcessFacts,
  Sight,
  StopOutcome,
} from "@rouse/contract";
import type { SavedWork } from "./incident.ts";
import type { Action, ActionOutcome, ReportSignal, Turn } from "./signal.ts";
import { ms, type Story, type StoryGiven, story } from "./story.test-support.ts";

/** How often a holder reports when there is nothing to tell. */
const lifeSign = 10_000;

export interface HeldGiven extends StoryGiven {
  readonly hold?: Partial<HolderInfo>;
  /** What the processes do unless a report says otherwise. */
  readonly processes?: "quiet" | "busy" | "unknown";
  /** The outcome of saving its work. */
  readonly work?: SavedWork | null;
  /** The outcome of delivering a nudge. */
  readonly nudges?: NudgeDelivery | null;
  /** The hands stop and start the agent at once when told to. */
  readonly obedient?: boolean;
}

const nothingToSave: SavedWork = { kind: "nothing-to-save" };
const typed: NudgeDelivery = { kind: "sent", channel: "terminal", echoed: true };

/**
 * The life of a held agent on virtual time. Its holder reports every ten seconds, as a real one does; `shows` adds
 * sights.
 */
export function heldStory(given: HeldGiven = {}) {
  const { work = nothingToSave, nudges = typed } = given;
  const hands = (action: Action): ActionOutcome | null => {
    if (action.kind === "save-work") return work === null ? null : { kind: "work", work };
    if (action.kind === "nudge-agent") return nudges === null ? null : { kind: "nudge", delivery: nudges };
    return given.obedient === true ? obey(action) : null;
  };

  function obey(action: Action): ActionOutcome | null {
    if (action.kind === "stop-agent") {
      exits({ signal: "SIGTERM", cause: "stopped" });
      return { kind: "stop", stop: { kind: "stopped", forced: false, processes: 2 } };
    }
    if (action.kind !== "restart-agent") return null;
    startsAgain();
    return { kind: "restarted", incarnation: agent.record.life.incarnation, recovery: null };
  }

  const agent: Story = story({ preset: "default", hands, ...given });
  let seq = 0;
  let processes = given.processes ?? "quiet";
  let facts: ProcessFacts = {
    processes: 1,
    cpuMs: 100,
    ioBytes: 1000,
    memoryBytes: 50_000_000,
    network: { sockets: 1, bytes: 0 },
    files: { changes: 0 },
    youngestChildAt: null,
    readsTerminal: false,
  };
  let output: HolderReport["output"] = { bytes: 0, rows: 0, lastAt: null };
  let attached = given.hold?.foreground ? 1 : 0;
  let fullScreen = false;

  const holdOf = (over: Partial<HolderInfo> = {}): HolderInfo => ({
    agentId: agent.record.agentId,
    agentType: null,
    taskId: given.taskId ?? null,
    policy: null,
    incarnation: agent.record.life.incarnation,
    pid: 4242,
    family: "generic",
    structured: false,
    foreground: false,
    startedAt: agent.now,
    ...given.hold,
    ...over,
  });

  /** The turn and its signal: a holder that hears no answer sends the report again. */
  function report(
    sights: readonly Sight[],
    over: Partial<HolderReport> = {},
    ago = 0,
  ): Turn & { readonly signal: ReportSignal } {
    seq += 1;
    if (sights.some(({ kind }) => kind === "output"))
      output = { bytes: output.bytes + 100, rows: output.rows + 1, lastAt: agent.now };
    const whole: HolderReport = {
      seq,
      at: agent.now - ago,
      sights: [...sights],
      output,
      process: processes === "unknown" ? null : facts,
      attached,
      fullScreen,
      outputKept: true,
      exit: null,
      ...over,
    };
    const { incarnation } = agent.record.life;
    const signal: ReportSignal = { kind: "reported", incarnation, report: whole, ago };
    return { ...agent.take(signal), signal };
  }

  /** Time passes; the holder reports. */
  function passes(duration: string | number): void {
    const until = agent.now + ms(duration);
    while (agent.now < until) {
      const step = Math.min(lifeSign, until - agent.now);
      agent.silentFor(step);
      if (processes === "busy") facts = { ...facts, cpuMs: facts.cpuMs + 0.9 * step, ioBytes: facts.ioBytes + step };
      if (
        step === lifeSign &&
        agent.record.seen.terminal?.exit === null &&
        agent.record.seen.terminal.holder === "here"
      )
        report([]);
    }
  }

  const exits = (exit: Partial<ExitStatus>): Turn =>
    report([], { exit: { code: null, signal: null, cause: "by-itself", ...exit } });

  function startsAgain(pid = 4343, ago = "0s"): Turn {
    seq = 0;
    const incarnation = agent.record.life.incarnation + 1;
    return agent.take({ kind: "held", hold: holdOf({ incarnation, pid }), adopted: false, ago: ms(ago) });
  }

  agent.take({ kind: "held", hold: holdOf(), adopted: false });

  return {
    agent,
    report,
    passes,
    holdOf,
    shows: (...sights: Sight[]) => report(sights),
    prints: (novel = 1, rows = novel) => report([{ kind: "output", rows, novel }]),
    processesAre(next: "quiet" | "busy" | "unknown"): void {
      processes = next;
    },
    /** The process facts of the next reports. */
    processesShow(next: Partial<ProcessFacts>): void {
      facts = { ...facts, ...next };
    },
    personAttaches(terminals: number): Turn {
      attached = terminals;
      return report([]);
    },
    goesFullScreen(): Turn {
      fullScreen = true;
      return report([]);
    },
    exits,
    holderIsLost: (process: "gone" | "alive", exit: ExitStatus | null = null): Turn =>
      agent.take({ kind: "holder-lost", incarnation: agent.record.life.incarnation, process, exit }),
    startsAgain,
    isOrdered: (order: "stop" | "restart", key = "order-1", force = false): Turn =>
      agent.take({ kind: "ordered", order, key, actor: "operator", force }),
    handsAnswer: (key: string, outcome: ActionOutcome): Turn => agent.take({ kind: "action-outcome", key, outcome }),
    handsStopped: (key: string, stop: StopOutcome = { kind: "stopped", forced: false, processes: 2 }): Turn =>
      agent.take({ kind: "action-outcome", key, outcome: { kind: "stop", stop } }),
  };
}

export type HeldStory = ReturnType<typeof heldStory>;
