import type { BreakerNews, Heartbeat, HeartbeatAck, RouseEvent } from "@rouse/contract";
import type { Speak } from "./monitor-world.ts";
import type { Random } from "./random.ts";
import type { Timeline } from "./virtual-time.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

interface Parts {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly speak: Speak;
  readonly violated: (text: string) => void;
}

/** What is true of an agent, as its breakers see it. */
interface Insight {
  readonly isWell: () => boolean;
  /** Its tools fail, one call after the other. */
  readonly toolsFail: () => boolean;
}

interface Inside extends Insight {
  /** Since when each operation fails, for as long as its breaker is not closed. */
  readonly failing: Map<string, number>;
  /** Closed, and the monitor may not have heard of it. */
  readonly closed: Set<string>;
  readonly seen: string[];
  toolsFailedAt: number;
  /** A reset that its agent has not heard of; `savedAt`: when the monitor had saved it. */
  reset: { readonly operation: string; savedAt: number } | null;
}

export interface BreakerFindings {
  readonly outages: number;
  readonly resets: number;
  readonly heard: number;
}

export type BreakerWorld = ReturnType<typeof createBreakers>;

/** Nobody's fault: a well agent calls something that is down, and its own breakers say so. */
const down = ["external_api", "external_api/api.example.com", "tool_execution/fetch", "checkpoint_write"] as const;

/**
 * Breakers inside agents that beat: they open when what the agent calls is down, which is no illness, and when its tools
 * fail, which is one. Holds against them what the monitor makes of them.
 */
export function createBreakers({ timeline, random, speak, violated }: Parts) {
  const agents = new Map<string, Inside>();
  const findings = { outages: 0, resets: 0, heard: 0 };
  const { now } = timeline;

  function add(id: string, insight: Insight): void {
    const reset = null;
    const toolsFailedAt = Number.NEGATIVE_INFINITY;
    const inside: Inside = { ...insight, failing: new Map(), closed: new Set(), seen: [], toolsFailedAt, reset };
    agents.set(id, inside);
    breakDown(id, inside);
  }

  function breakDown(id: string, inside: Inside): void {
    timeline.after(random.until(8 * hour), () => {
      const operation = random.pick(down);
      const lasts = random.between(5 * minute, 90 * minute);
      if (inside.isWell() && !inside.failing.has(operation)) {
        findings.outages += 1;
        inside.failing.set(operation, now());
        timeline.after(lasts, () => close(inside, operation));
        if (random.chance(0.4)) timeline.after(random.until(lasts), () => resetByHand(id, inside, operation));
      }
      breakDown(id, inside);
    });
  }

  function close(inside: Inside, operation: string): void {
    if (inside.failing.delete(operation)) inside.closed.add(operation);
  }

  function resetByHand(id: string, inside: Inside, operation: string): void {
    if (!inside.failing.has(operation)) return;
    speak(async (to) => {
      // An answer of the same turn of the monitor may tell of it before its caller knows that it is saved.
      const asked = { operation, savedAt: Number.POSITIVE_INFINITY };
      const before = inside.reset;
      inside.reset = asked;
      try {
        await to.help.breakers.reset(`${id}/${operation}`, { actor: "operator", reason: "simulated" });
      } catch (error) {
        if (inside.reset === asked) inside.reset = before;
        throw error;
      }
      findings.resets += 1;
      asked.savedAt = now();
    });
  }

  function noteTools(inside: Inside): void {
    if (inside.toolsFail()) {
      inside.toolsFailedAt = now();
      if (!inside.failing.has("tool_execution")) inside.failing.set("tool_execution", now());
    } else close(inside, "tool_execution");
  }

  /** OPEN for a minute, then a try that fails. */
  function stateOf(operation: string, since: number): BreakerNews {
    const into = (now() - since) % (90 * second);
    if (into >= minute) return { operation, state: "HALF_OPEN" };
    return { operation, state: "OPEN", failures: 3, retryInSeconds: (minute - into) / second };
  }

  return {
    add,
    /** The agent's next beat says how its breakers stand, and what it has read. */
    addTo(beat: Heartbeat): Heartbeat {
      const inside = agents.get(beat.agentId);
      if (inside === undefined) return beat;
      noteTools(inside);
      const open = [...inside.failing].map(([operation, since]) => stateOf(operation, since));
      const closed = [...inside.closed].map((operation) => ({ operation, state: "CLOSED" }) as const);
      const breakers = [...open, ...closed];
      const seen = [...(beat.seen ?? []), ...inside.seen.slice(-10)].slice(0, 20);
      return { ...beat, ...(breakers.length === 0 ? {} : { breakers }), ...(seen.length === 0 ? {} : { seen }) };
    },
    /** The answer to a beat: a reset that was saved before it was sent is in it. */
    answered(id: string, { status, commands }: HeartbeatAck, sentAt: number): void {
      const inside = agents.get(id);
      if (inside === undefined || status !== "accepted") return;
      for (const operation of inside.closed) if (!inside.failing.has(operation)) inside.closed.delete(operation);
      for (const { id: command, kind, breaker } of commands) {
        if (kind !== "reset-breaker" || breaker === undefined) continue;
        if (!inside.seen.includes(command)) inside.seen.push(command);
        close(inside, breaker);
        if (inside.reset?.operation !== breaker) continue;
        inside.reset = null;
        findings.heard += 1;
      }
      if (inside.reset !== null && sentAt > inside.reset.savedAt) {
        violated(`${id} was not told that its breaker of ${inside.reset.operation} was reset`);
        inside.reset = null;
      }
    },
    note(event: RouseEvent): void {
      if (event.type === "HEALTH_STATE_CHANGED" && event.payload.reason === "breaker-open") {
        const { agentId, to } = event.payload;
        const inside = agents.get(agentId);
        if (inside === undefined || to !== "FAILING") return;
        const failed = inside.toolsFail() || now() - inside.toolsFailedAt < 30 * minute;
        if (!failed) violated(`${agentId} was called FAILING for a breaker, and its tools do not fail`);
      }
      if (event.type === "TERMINATION_ORDERED" && event.payload.because === "breaker-open") {
        const { agentId } = event.payload;
        if (agents.get(agentId)?.isWell() === true)
          violated(`${agentId} is to be stopped for a breaker, and only what it calls is down`);
      }
    },
    findings: (): BreakerFindings => findings,
  };
}
