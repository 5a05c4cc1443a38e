import type { Sight } from "@rouse/contract";
import type { AgentRecord } from "../record.ts";
import type { Signal } from "../signal.ts";
import { tellsSteps } from "../terminal-facts.ts";
import { isCancelled } from "./digest-event.ts";

/** A call of a tool that was answered, and whether it failed. */
export interface EndedCall {
  /** `null`: not told. */
  readonly tool: string | null;
  readonly failed: boolean;
}

/**
 * The calls that an accepted signal tells the end of. A call counts once: where the program itself is seen at work
 * (stream, hooks, session file; joined by its holder), what the agent tells of its steps beside that is the same calls.
 */
export function endedCalls(before: AgentRecord, signal: Signal): readonly EndedCall[] {
  const { terminal, steps } = before.seen;
  const isSeen = terminal !== null && tellsSteps(terminal);
  if (signal.kind === "reported")
    return isSeen && terminal.exit === null
      ? sinceLastSuccess(endsIn(signal.report.sights, namesOf(terminal.tools)))
      : [];
  if (signal.kind !== "stepped" || isSeen) return [];
  return signal.events.flatMap((event) => {
    const { kind, id, tool, failed } = event;
    if (kind !== "tool_result" || typeof failed !== "boolean" || isCancelled(event)) return [];
    const open = steps?.open ?? [];
    const called =
      typeof id === "string" ? open.find((call) => call.id === id) : open.length === 1 ? open[0] : undefined;
    return { tool: tool ?? called?.tool ?? null, failed };
  });
}

const namesOf = (tools: readonly { readonly id: string; readonly name: string }[]): Map<string, string> =>
  new Map(tools.map(({ id, name }) => [id, name]));

function endsIn(sights: readonly Sight[], names: Map<string, string>): EndedCall[] {
  const ends: EndedCall[] = [];
  for (const sight of sights) {
    if (sight.kind === "tool-started") names.set(sight.id, sight.name);
    // The outcome of a call whose result could not be read is unknown.
    if (sight.kind !== "tool-ended" || sight.resultDigest === "" || sight.cancelled === true) continue;
    ends.push({ tool: names.get(sight.id) ?? null, failed: sight.failed });
  }
  return ends;
}

/**
 * A report may tell of many calls at once, and of calls long ago: failures that a success followed are over. Told one by
 * one at one moment, they would open a breaker that the success no longer closes.
 */
function sinceLastSuccess(ends: readonly EndedCall[]): readonly EndedCall[] {
  const last = ends.findLastIndex(({ failed }) => !failed);
  return last === -1 ? ends : ends.slice(last);
}
