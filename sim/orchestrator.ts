import type { DecisionRequest, EscalationDecision, EscalationNotice } from "@rouse/contract";
import type { Asked, Orchestrator } from "../packages/daemon/src/ports/orchestrator.ts";
import type { Random } from "./random.ts";
import type { Speak } from "./simulate.ts";
import type { Timeline } from "./virtual-time.ts";

const second = 1000;
const minute = 60 * second;

/** So often an orchestrator gives more time to one agent before it makes up its mind. */
const mostPatience = 2;

/** Whoever decides: down for a while, slow, quick, silent, late, or saying everything twice. */
export function createOrchestrator(timeline: Timeline, random: Random, speak: Speak) {
  const patience = new Map<string, number>();
  let downUntil = 0;

  function choose({ agentId, incident }: EscalationNotice): DecisionRequest {
    const key = `${agentId} ${incident}`;
    const given = patience.get(key) ?? 0;
    const choices: EscalationDecision[] = ["terminate_and_recover", "terminate_and_recover", "force_handoff"];
    if (given < mostPatience) choices.push("allow_more_time", "allow_more_time");
    const decision = random.pick(choices);
    if (decision !== "allow_more_time") return { decision, actor: "orchestrator", reason: "simulated" };
    patience.set(key, given + 1);
    return { decision, actor: "orchestrator", reason: "simulated", minutes: random.whole(2, 30) };
  }

  /** Says it to whichever monitor is there by then; one that is down is told again a while later. */
  function say(escalation: string, decision: DecisionRequest, tries = 3): void {
    speak(
      (to) => to.help.words.decide(escalation, { ...decision, actor: "orchestrator:simulated" }),
      () => {
        if (tries > 1) timeline.after(20 * second, () => say(escalation, decision, tries - 1));
      },
    );
  }

  function answer(notice: EscalationNotice): Asked {
    const roll = random.next();
    const decision = choose(notice);
    const { id } = notice;
    if (roll < 0.15) return { decided: decision };
    if (roll < 0.5) timeline.after(random.between(second, 14 * minute), () => say(id, decision));
    else if (roll < 0.6) {
      const delay = random.between(second, 14 * minute);
      timeline.after(delay, () => say(id, decision));
      timeline.after(delay + random.between(0, minute), () => say(id, choose(notice)));
    } else if (roll < 0.75) timeline.after(random.between(14 * minute, 60 * minute), () => say(id, decision));
    if (roll > 0.5 && roll < 0.9)
      timeline.after(random.between(second, 8 * minute), () =>
        speak((to) => to.help.words.acknowledge(id, "operator")),
      );
    return "delivered";
  }

  return {
    fail(lasts: number): void {
      downUntil = timeline.now() + lasts;
    },
    portFor: (toMonitor: (callback: () => void) => void, isDead: () => boolean): Orchestrator => ({
      ask: (notice) =>
        new Promise((resolve) => {
          if (isDead()) return;
          const isDown = timeline.now() < downUntil;
          timeline.after(isDown ? 30 * second : random.between(20, 8 * second), () => {
            const said: Asked = isDown ? { problem: "connection refused" } : answer(notice);
            toMonitor(() => resolve(said));
          });
        }),
      withdraw: async () => undefined,
      close: () => undefined,
    }),
  };
}

export type SimulatedOrchestrator = ReturnType<typeof createOrchestrator>;
