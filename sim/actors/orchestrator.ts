import type { DecisionRequest, EscalationDecision, EscalationNotice } from "@rouse/contract";
import type { Asked, Orchestrator } from "../../packages/daemon/src/ports/orchestrator.ts";
import type { Speak } from "../world/monitor-world.ts";
import type { Random } from "../world/random.ts";
import type { Timeline } from "../world/virtual-time.ts";

const second = 1000;
const minute = 60 * second;

/** How often the orchestrator gives one incident more time before it decides otherwise. */
const mostPatience = 2;

/** How the orchestrator behaves for a whole run. `usual`: slow, quick, silent or late, and now and then with two answers. */
export const orchestratorTempers = ["usual", "never", "late", "wrong"] as const;
export type OrchestratorTemper = (typeof orchestratorTempers)[number];

/** When no temper is given, the seed chooses: one in four for each. */
export const temperOf = (run: {
  readonly seed: number;
  readonly orchestrator?: OrchestratorTemper;
}): OrchestratorTemper =>
  run.orchestrator ?? (orchestratorTempers[run.seed % orchestratorTempers.length] as OrchestratorTemper);

interface Parts {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly speak: Speak;
  readonly temper: OrchestratorTemper;
  /** The truth, for one that decides against it. */
  readonly isWell: (agentId: string) => boolean;
}

/** The orchestrator, which is down for a while now and then. */
export function createOrchestrator({ timeline, random, speak, temper, isWell }: Parts) {
  const patience = new Map<string, number>();
  let downUntil = 0;

  function choose({ agentId, incident }: EscalationNotice): DecisionRequest {
    if (temper === "wrong") return chooseWrongly(agentId);
    const key = `${agentId} ${incident}`;
    const given = patience.get(key) ?? 0;
    const choices: EscalationDecision[] = ["terminate_and_recover", "terminate_and_recover", "force_handoff"];
    if (given < mostPatience) choices.push("allow_more_time", "allow_more_time");
    const decision = random.pick(choices);
    if (decision !== "allow_more_time") return { decision, actor: "orchestrator", reason: "simulated" };
    patience.set(key, given + 1);
    return { decision, actor: "orchestrator", reason: "simulated", minutes: random.whole(2, 30) };
  }

  /** Who is well is to be stopped; who is ill is given time. */
  function chooseWrongly(agentId: string): DecisionRequest {
    const decided = { actor: "orchestrator", reason: "simulated" };
    if (!isWell(agentId)) return { ...decided, decision: "allow_more_time", minutes: random.whole(5, 60) };
    return { ...decided, decision: random.chance(0.5) ? "terminate_and_recover" : "force_handoff" };
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
    if (temper === "never") return "delivered";
    if (temper === "late") {
      const decision = choose(notice);
      timeline.after(random.between(15.5 * minute, 180 * minute), () => say(notice.id, decision));
      return "delivered";
    }
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
