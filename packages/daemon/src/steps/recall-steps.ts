import { Fault, type KeptStep, type MonoMs, type StepEvent, type StepPage, type StepQuery } from "@rouse/contract";
import { isOfProgram, type Signal, stepOfSight } from "@rouse/core";
import type { SavedSignal, Store } from "../ports/store.ts";

/** Steps as they are kept: with their life, because the agent's record is of a later one when they are read. */
export interface KeptSteps {
  readonly incarnation: number;
  readonly events: readonly StepEvent[];
}

export const mostSteps = 10_000;
const usualSteps = 1000;
const signalsPerLook = 500;

interface Asked {
  readonly no: number;
  readonly agentId: string;
  /** Its holder reads a stream: every sight is a step, not only those that come from the program itself. */
  readonly structured: boolean;
}

interface Found {
  readonly place: Place;
  readonly incarnation: number;
  readonly at: MonoMs;
  readonly event: StepEvent;
}

/** The signal that an event came in, and its index there. */
interface Place {
  readonly signal: number;
  readonly index: number;
}

/** The newest of an agent's kept steps that match the query, oldest first, in the format of a recording. */
export async function recallSteps(
  store: Store,
  agent: Asked,
  query: StepQuery,
  iso: (at: MonoMs) => string,
): Promise<StepPage> {
  const limit = query.limit ?? usualSteps;
  const after = query.after === undefined ? null : readPlace(query.after);
  let before = query.cursor === undefined ? null : readPlace(query.cursor);
  const found: Found[] = [];
  for (let isMore = true; isMore && found.length <= limit; ) {
    const signals = await store.readSteps(agent.no, before === null ? null : before.signal + 1, signalsPerLook);
    for (const signal of signals) {
      const events = eventsIn(signal, agent.structured).toReversed();
      for (const one of events) if (isWithin(one.place, after, before)) found.push(one);
    }
    const oldest = signals[signals.length - 1];
    isMore = signals.length === signalsPerLook && oldest !== undefined && oldest.id > (after?.signal ?? 0);
    if (oldest !== undefined) before = { signal: oldest.id, index: 0 };
  }
  const next = found.length > limit ? tellPlace(found[limit - 1]) : null;
  return { ...page(agent.agentId, found.slice(0, limit).reverse(), iso), next };
}

function page(agentId: string, found: readonly Found[], iso: (at: MonoMs) => string): Omit<StepPage, "next"> {
  const began = new Map<number, MonoMs>();
  const steps = found.map(({ incarnation, at, event }): KeptStep => {
    const since = began.get(incarnation) ?? at;
    began.set(incarnation, since);
    return { trace: `${agentId}/${incarnation}`, ...event, at: Math.max(0, at - since) / 1000, receivedAt: iso(at) };
  });
  return { steps, last: tellPlace(found[found.length - 1]) };
}

const isWithin = (place: Place, after: Place | null, before: Place | null): boolean =>
  (after === null || isEarlier(after, place)) && (before === null || isEarlier(place, before));

const isEarlier = (a: Place, b: Place): boolean => a.signal < b.signal || (a.signal === b.signal && a.index < b.index);

const tellPlace = (found: Found | undefined): string | null =>
  found === undefined ? null : `${found.place.signal}.${found.place.index}`;

function readPlace(text: string): Place {
  const [, signal, index] = /^(\d{1,15})\.(\d{1,9})$/.exec(text) ?? [];
  if (signal === undefined || index === undefined)
    throw new Fault("bad-request", "after, cursor: `last` or `next` of an earlier answer");
  return { signal: Number(signal), index: Number(index) };
}

function eventsIn({ id, at, kind, body }: SavedSignal, structured: boolean): Found[] {
  const kept = kind === "steps" ? (JSON.parse(body) as KeptSteps) : seenIn(JSON.parse(body) as Signal, structured);
  if (kept === null) return [];
  const { incarnation, events } = kept;
  return events.map((event, index) => ({ place: { signal: id, index }, incarnation, at, event }));
}

/** A count of tokens belongs to the event that follows it. */
function seenIn(signal: Signal, structured: boolean): KeptSteps | null {
  if (signal.kind !== "reported") return null;
  const events: StepEvent[] = [];
  let tokens: number | null = null;
  for (const sight of signal.report.sights) {
    if (!structured && !isOfProgram(sight)) continue;
    if (sight.kind === "tokens") tokens = sight.total;
    const event = stepOfSight(sight);
    if (event === null) continue;
    events.push(tokens === null ? event : { ...event, tokens });
    tokens = null;
  }
  return { incarnation: signal.incarnation, events };
}
