import type { AgentFamily, ContainOutcome, ContainRefusal } from "@rouse/contract";
import { findWayToInterrupt, interruptLine } from "@rouse/core";
import type { Containment } from "../program/listen-for-hooks.ts";
import type { ContainOrder } from "../protocol/messages.ts";
import type { Ways } from "./give-nudge.ts";

interface ContainmentParts {
  readonly family: () => AgentFamily;
  readonly ways: Ways;
  /** Whether the program asks its hook before each tool: without that nothing can be withheld. */
  readonly hooksOpen: () => boolean;
  readonly over: () => boolean;
  /** By the wall clock. */
  readonly now: () => number;
}

/**
 * Holds back an agent that its monitor has handed to a person. A pause is a switch that the agent's hooks ask. It ends
 * by itself, so that no agent stays paused whose monitor is gone.
 */
export function containAgent({
  family,
  ways,
  hooksOpen,
  over,
  now,
}: ContainmentParts): Containment & { obey(order: ContainOrder): Promise<ContainOutcome> } {
  let paused: { readonly reason: string; readonly until: number } | null = null;
  let letGoAt = Number.NEGATIVE_INFINITY;
  const awaitLetGo = new Set<() => void>();

  function pause({ reason, lastsMs }: ContainOrder): ContainOutcome {
    if (!hooksOpen()) return refuse("no-hooks");
    paused = { reason, until: now() + lastsMs };
    return { kind: "contained" };
  }

  function letGo({ decidedAt }: ContainOrder): ContainOutcome {
    letGoAt = Math.max(letGoAt, decidedAt);
    paused = null;
    for (const wake of awaitLetGo) wake();
    return { kind: "let-go" };
  }

  return {
    withheld: () => (paused !== null && now() < paused.until ? paused.reason : null),
    untilLetGo: (withinMs) =>
      new Promise((resolve) => {
        const left = paused === null ? 0 : Math.max(0, paused.until - now());
        const timer = setTimeout(wake, Math.min(withinMs, left)).unref();
        function wake(): void {
          clearTimeout(timer);
          awaitLetGo.delete(wake);
          resolve();
        }
        awaitLetGo.add(wake);
      }),
    async obey(order) {
      if (order.how === "let-go") return letGo(order);
      if (over()) return refuse("over");
      if (order.decidedAt <= letGoAt) return refuse("released");
      return order.how === "pause" ? pause(order) : interrupt(ways, family());
    },
  };
}

const refuse = (because: ContainRefusal): ContainOutcome => ({ kind: "not-contained", because });

const escapeKey = Buffer.from("\x1b");

/** Interrupts a turn in the program's own way, with one key at most. */
async function interrupt({ input, slot, keyboard }: Ways, family: AgentFamily): Promise<ContainOutcome> {
  // Only Claude Code takes messages on its input.
  if (input() === "stdin") {
    if (slot.midLine()) return refuse("no-way");
    const taken = await slot.deliver(Buffer.from(`${interruptLine()}\n`, "utf8"));
    return taken ? { kind: "contained" } : refuse("no-way");
  }
  if (keyboard === null) return refuse("no-way");
  const { screen } = keyboard;
  const way = await screen.settle(() => findWayToInterrupt(screen.typingScreen(), family, keyboard.patterns()));
  if (way.kind === "refused") return refuse(way.because);
  // Checked last: nothing is awaited between this and the key.
  if (keyboard.attached()) return refuse("attached");
  if (!keyboard.inFront()) return refuse("no-way");
  keyboard.write(escapeKey);
  return { kind: "contained" };
}
