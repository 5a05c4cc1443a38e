import { type BreakerState, type EvidenceClass, evidenceClasses, type SavedEvent } from "@rouse/contract";
import type { RouseClient } from "@rouse/sdk";
import { describeEvent } from "../cli/show/describe-event.ts";
import type { Surroundings } from "../cli/surroundings.ts";
import { type Line, type Style, styled, wrapLine } from "../cli/text/styled-text.ts";

export interface DemoOptions {
  /** Leave the data folder behind to look at. */
  readonly keep: boolean;
  readonly seconds: number;
  /** Resolves when somebody wants the demo to end. */
  readonly ended: Promise<"interrupted">;
}

export type DemoOutcome = "over" | "too-long" | "interrupted";

export const cast = [
  { name: "hank", role: "hanger" },
  { name: "lou", role: "looper" },
  { name: "cora", role: "crasher" },
  { name: "ada", role: "worker" },
  { name: "bob", role: "caller" },
] as const;

export interface Story {
  /** Everybody has finished, and nothing is under way. */
  readonly over: Promise<"over">;
  conclude(outcome: DemoOutcome): void;
}

type Told = { readonly style: Style; readonly text: string } | null;

/** Prints what matters of what happens, as it happens. */
export function tellStory(here: Surroundings, rouse: RouseClient, { keep }: Pick<DemoOptions, "keep">): Story {
  const began = here.now();
  const stop = new AbortController();
  const finished = new Set<string>();
  const counts = { nudges: 0, stops: 0, recoveries: 0 };
  let settle: () => void = () => {};
  const over = new Promise<"over">((resolve) => {
    settle = () => resolve("over");
  });
  here.print([
    [styled("bold", "Five small agents, and a policy in fast motion: beats every second, patience in seconds.")],
    [
      "ada just works; bob's model will be overloaded, lou will go round in circles, hank will hang, cora will crash. Ctrl-C ends it.",
    ],
    [
      "Nobody is stopped for silence alone: hank beats by a timer, and the policy says to restart who stops doing that.",
    ],
    [],
  ]);

  const say = (who: string, { style, text }: NonNullable<Told>): void => {
    const at = `${((here.now() - began) / 1000).toFixed(1).padStart(5)} s  `;
    const line: Line = [styled("dim", at), styled("bold", who.padEnd(6)), styled(style, text)];
    here.print(wrapLine(line, here.width, 15));
  };

  function hear(event: SavedEvent): void {
    const agentId = whose(event);
    if (event.type === "NUDGE_SENT") counts.nudges += 1;
    if (event.type === "AGENT_TERMINATED") counts.stops += 1;
    if (event.type === "RECOVERY_COMPLETED") counts.recoveries += 1;
    const told = retell(event);
    if (told !== null && agentId) say(agentId, told);
    if (event.type !== "AGENT_FINISHED") return;
    finished.add(event.payload.agentId);
    if (finished.size === cast.length) settle();
  }

  async function listen(): Promise<void> {
    for await (const event of rouse.streamEvents({ after: 0, signal: stop.signal })) hear(event as SavedEvent);
  }
  listen().catch(() => {});

  return {
    over,
    conclude(outcome) {
      stop.abort();
      if (outcome === "interrupted") return here.print([["Ending what was started."]]);
      const { nudges, stops, recoveries } = counts;
      const missing = cast.filter(({ name }) => !finished.has(name)).map(({ name }) => name);
      here.print([
        [],
        outcome === "over"
          ? [
              styled(
                "green",
                `All five finished: ${nudges} ${nudges === 1 ? "nudge" : "nudges"}, ${stops} stopped, ${recoveries} brought back from where they were.`,
              ),
            ]
          : [styled("red", `Not finished in time: ${missing.join(", ")}`)],
        ...(keep ? [] : [["With --keep the audit trail and the evidence for each decision stay, to be looked at."]]),
      ]);
    },
  };
}

/** A breaker is named after its agent and what it guards. */
function whose({ type, payload }: SavedEvent): string | null {
  if (type === "CIRCUIT_BREAKER_STATE_CHANGED") return payload.name.split("/", 1)[0] ?? null;
  return (payload as { agentId?: string | null }).agentId ?? null;
}

/** Words an event for the demo; `null` for events that only `rouse events` shows. */
function retell(event: SavedEvent): Told {
  switch (event.type) {
    case "AGENT_HELD":
      return event.payload.incarnation === 1 ? { style: "dim", text: `starts, process ${event.payload.pid}` } : null;
    case "CHECKPOINT_SAVED":
      return { style: "dim", text: `step ${event.payload.step} done: ${event.payload.stepName}` };
    case "HEALTH_STATE_CHANGED":
      return { style: event.payload.to === "HEALTHY" ? "green" : "yellow", text: describeEvent(event) };
    case "CIRCUIT_BREAKER_STATE_CHANGED":
      return tellBreaker(event.payload);
    case "NUDGE_SENT":
      return { style: "yellow", text: `nudged: ${event.payload.message.split("\n")[0]}` };
    case "NUDGE_ACTED":
      return { style: "green", text: `took the hint: ${event.payload.evidence}` };
    case "TERMINATION_REFUSED":
      return { style: "yellow", text: `not stopped yet: ${describeEvent(event)}` };
    case "ESCALATION_TRIGGERED":
      return { style: "yellow", text: `the orchestrator is asked: ${describeEvent(event)}` };
    case "ESCALATION_UNANSWERED":
      return { style: "yellow", text: "nobody answered" };
    case "WORK_SAVED":
      return { style: "green", text: `its uncommitted work is safe: ${describeEvent(event)}` };
    case "AGENT_TERMINATED":
      return { style: "red", text: `stopped, all its processes: ${tellWhy(event.payload.evidence)}` };
    case "PROCESS_EXITED":
      return { style: event.payload.code === 0 ? "dim" : "red", text: `ended ${describeEvent(event)}` };
    case "RECOVERY_COMPLETED":
      return { style: "green", text: `back: ${describeEvent(event)}` };
    case "AGENT_FINISHED":
      return { style: "green", text: "finished" };
    default:
      return null;
  }
}

const breakerColours = { OPEN: "yellow", HALF_OPEN: "yellow", CLOSED: "green" } as const;
const breakerWords = {
  OPEN: "it failed again and again, and is left alone for a while",
  HALF_OPEN: "one call is let try",
  CLOSED: "it works again",
} as const;

function tellBreaker({ name, from, to }: { name: string; from: BreakerState; to: BreakerState }): Told {
  const operation = name.slice(name.indexOf("/") + 1);
  return { style: breakerColours[to], text: `breaker of ${operation} ${from} → ${to}: ${breakerWords[to]}` };
}

/** What was found of a stopped agent, and whether its owner's rule made that enough. */
function tellWhy(evidence: readonly string[]): string {
  const found = evidence.filter((text) => !evidenceClasses.includes(text as EvidenceClass));
  const ruled = evidence.includes("owner-rule") ? ["and its owner's rule is to start it again then"] : [];
  return [...found, ...ruled].join(", ");
}
