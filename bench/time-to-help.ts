import type { EventType, PresetName } from "@rouse/contract";
import { type HeldGiven, type HeldStory, heldStory } from "../packages/core/src/held-story.test-support.ts";
import type { Line } from "./report.ts";
import type { BenchOptions } from "./throughput.ts";

/** One way to be ill, or only to look like it, told on virtual time. `from`: the second at which it begins. */
interface Sickness {
  readonly name: string;
  readonly from: number;
  readonly held: HeldGiven;
  readonly happens: (held: HeldStory) => void;
}

const stream = { family: "claude-code", structured: true } as const;
const minutesPass = (held: HeldStory, count = 130): void => {
  for (let i = 0; i < count; i++) held.passes("1m");
};

function loops(held: HeldStory): void {
  for (let i = 0; i < 400 && held.agent.told("TERMINATION_ORDERED").length === 0; i++) {
    const id = `t${i}`;
    held.shows({ kind: "tool-started", id, name: "Bash", argsDigest: "a", timeoutSeconds: null });
    held.processesShow({ network: { sockets: 1, bytes: i } });
    held.passes("5s");
    held.shows({ kind: "tool-ended", id, failed: true, resultDigest: "r" });
    held.passes("5s");
  }
}

const begins = (sight: Parameters<HeldStory["shows"]>[0]) => (held: HeldStory) => {
  held.shows(sight);
  minutesPass(held);
};

const fleet: PresetName = "fleet";

function beatsThenFallsSilent(said: object) {
  return (held: HeldStory): void => {
    for (let i = 0; i < 5; i++) {
      held.agent.beats(said);
      held.passes("5s");
    }
    minutesPass(held);
  };
}

const sicknesses: readonly Sickness[] = [
  {
    name: "healthy and quiet (sleep, a slow server)",
    from: 0,
    held: { hold: { input: "terminal" } },
    happens: begins({ kind: "output", rows: 1, novel: 1 }),
  },
  {
    name: "request to the model hangs, no way to nudge",
    from: 0,
    held: { hold: { ...stream, input: "none" } },
    happens: begins({ kind: "model-asked" }),
  },
  {
    name: "request to the model hangs",
    from: 0,
    held: { hold: { ...stream, input: "stdin" } },
    happens: begins({ kind: "model-asked" }),
  },
  {
    name: "tool hangs beyond the 2 min it declared",
    from: 0,
    held: { hold: { ...stream, input: "none" } },
    happens: begins({ kind: "tool-started", id: "t", name: "fetch", argsDigest: "a", timeoutSeconds: 120 }),
  },
  { name: "loop, no way to nudge", from: 0, held: { hold: { ...stream, input: "none" } }, happens: loops },
  { name: "loop", from: 0, held: { hold: { ...stream, input: "stdin" } }, happens: loops },
  {
    name: "failure after failure",
    from: 300,
    held: {},
    happens: (held) => {
      held.passes("5m");
      for (let i = 0; i < 60; i++) {
        held.agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
        held.passes("1m");
      }
    },
  },
  {
    name: "context full, nothing handed over",
    from: 0,
    held: { hold: { input: "terminal" } },
    happens: (held) => {
      held.prints();
      held.shows({ kind: "context-limit", pattern: "limit" });
      minutesPass(held);
    },
  },
  {
    name: "fleet: beat by a timer, falls silent",
    from: 20,
    held: { preset: fleet },
    happens: beatsThenFallsSilent({ open: { kind: "tool", name: "build" } }),
  },
  { name: "fleet: no timer shown, falls silent", from: 20, held: { preset: fleet }, happens: beatsThenFallsSilent({}) },
  {
    name: "hangs, started with --idle-kill 30m",
    from: 0,
    held: { hold: { idleKillMs: 30 * 60_000 } },
    happens: begins({ kind: "output", rows: 1, novel: 1 }),
  },
];

/** From the beginning of a sickness to the first nudge, question and stop, by the judgement itself on virtual time. */
export async function benchTimeToHelp({ show }: BenchOptions): Promise<Line[]> {
  const rows = sicknesses.map(({ name, from, held: given, happens }) => {
    const held = heldStory({ obedient: true, ...given });
    happens(held);
    const first = (type: EventType): string => tellTime(held.agent.when(type)[0], from);
    return `| ${name} | ${first("NUDGE_SENT")} | ${first("ESCALATION_TRIGGERED")} | ${first("TERMINATION_ORDERED")} |`;
  });
  show(["| | nudged after | asked after | stopped after |", "|---|---|---|---|", ...rows].join("\n"));
  return [];
}

function tellTime(when: string | undefined, from: number): string {
  if (when === undefined) return "–";
  const seconds = Number(when.split("s ")[0]) - from;
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 6) / 10} min`;
}
