import { cut, type Heartbeat, type WaitKind } from "@rouse/contract";
import { steadyNow } from "./surroundings.ts";

interface Wait {
  readonly what: WaitKind;
  /** Steady time; `null`: until it is called off. */
  readonly until: number | null;
}

interface OpenCall {
  readonly kind: "tool" | "model";
  readonly name: string;
  readonly timeoutMs: number | undefined;
}

/** What was said of the work so far. `changed` is told whenever that is worth a beat at once. */
export function gatherFacts(changed: () => void, warnOnce: (kind: string, text: string) => void) {
  const waits = new Set<Wait>();
  const open = new Set<OpenCall>();
  let idle = false;
  let ended: "FINISHED" | "FAILED" | null = null;
  let progressed = 0;
  const said: Pick<Heartbeat, "phase" | "progressIndicator" | "lastToolCall" | "lastCheckpoint"> = {};
  const totals = { tokens: 0, errors: 0, calls: 0 };
  let fill: number | null = null;

  /** Any word about work ends idling, and a failure that was told. */
  function atWork(): void {
    if (!idle && ended !== "FAILED") return;
    idle = false;
    if (ended === "FAILED") ended = null;
    changed();
  }

  function currentWait(now: number): Wait | null {
    for (const wait of waits) if (wait.until !== null && wait.until <= now) waits.delete(wait);
    return [...waits].at(-1) ?? null;
  }

  /** `toWall`: steady time as the agent's clock has it. */
  function activity(toWall: (steady: number) => string): Partial<Heartbeat> {
    if (ended !== null) return { status: ended };
    const wait = currentWait(steadyNow());
    if (wait !== null)
      return {
        status: "WAITING",
        waitingFor: wait.what,
        ...(wait.until === null ? {} : { waitingUntil: toWall(wait.until) }),
      };
    if (idle) return { status: "IDLE" };
    const call = longestOf(open);
    if (call === null) return { status: "RUNNING" };
    const { kind, name, timeoutMs } = call;
    const timeout = timeoutMs === undefined ? {} : { timeoutSeconds: Math.min(timeoutMs / 1000, 604_800) };
    return { status: "RUNNING", open: { kind, name, ...timeout } };
  }

  return {
    read: (toWall: (steady: number) => string): Partial<Heartbeat> => ({
      ...activity(toWall),
      ...said,
      ...(totals.tokens > 0 ? { tokenCount: Math.round(totals.tokens) } : {}),
      errorCount: totals.errors,
      toolCallCount: totals.calls,
      ...(fill === null ? {} : { healthMetrics: { context: fill } }),
    }),
    tokenCount: (): number => Math.round(totals.tokens),
    atWork,
    phase(name: string): void {
      atWork();
      said.phase = shorten(name, 200);
    },
    progress(text?: string): void {
      atWork();
      said.progressIndicator = text === undefined ? String(++progressed) : shorten(text, 1000);
    },
    tokens(used: number): void {
      atWork();
      if (typeof used === "number" && used > 0 && totals.tokens + used < Number.MAX_SAFE_INTEGER) totals.tokens += used;
    },
    context(share: number): void {
      if (typeof share !== "number" || !(share >= 0)) return;
      if (share <= 1) fill = Math.round(share * 1000) / 1000;
      else warnOnce("context", `context(${shorten(share, 50)}) is ignored: the fill is a share from 0 to 1`);
    },
    wait(what: WaitKind, until?: Date | number | string): () => void {
      const end = timeOf(until);
      if (Number.isNaN(end))
        warnOnce("until", `waiting(…, ${shorten(until, 50)}): that is no time, so the wait is told without an end`);
      const left = end === null ? Number.NaN : end - Date.now();
      const wait: Wait = {
        what: asWait(what),
        until: Number.isNaN(left) ? null : steadyNow() + Math.min(left, longestWaitMs),
      };
      idle = false;
      waits.add(wait);
      changed();
      return () => {
        if (waits.delete(wait)) changed();
      };
    },
    idle(): void {
      if (idle) return;
      idle = true;
      changed();
    },
    open(kind: OpenCall["kind"], name: string, timeoutMs?: number): () => void {
      atWork();
      const call = { kind, name: shorten(name, 200), timeoutMs: asTimeout(timeoutMs) };
      open.add(call);
      return () => open.delete(call);
    },
    called(): void {
      totals.calls += 1;
      said.lastToolCall = new Date().toISOString();
    },
    failed(): void {
      totals.errors += 1;
    },
    saved(step: number): void {
      said.lastCheckpoint = `step ${step}`;
    },
    end(how: "FINISHED" | "FAILED"): void {
      ended = how;
      changed();
    },
  };
}

export type Facts = ReturnType<typeof gatherFacts>;

/** Of calls side by side, the one that may take longest; the first of equals. */
function longestOf(open: ReadonlySet<OpenCall>): OpenCall | null {
  let longest: OpenCall | null = null;
  for (const call of open) if (longest === null || (call.timeoutMs ?? 0) > (longest.timeoutMs ?? 0)) longest = call;
  return longest;
}

/** `null`: none is given. */
function timeOf(until: unknown): number | null {
  if (until == null) return null;
  if (typeof until === "string") return Date.parse(until);
  return typeof until === "number" || until instanceof Date ? Number(until) : Number.NaN;
}

const asTimeout = (ms: number | undefined): number | undefined =>
  ms !== undefined && ms >= 0 && Number.isFinite(ms) ? ms : undefined;

/** Beats with a word that Rouse does not know would be refused, and the agent would fall silent: then the first is meant. */
export const oneOf = <T>(known: readonly [T, ...T[]], word: T): T => (known.includes(word) ? word : known[0]);
const asWait = (what: WaitKind): WaitKind => oneOf(["schedule", "input", "provider", "children"], what);

/** A year; no wait is told as longer. */
const longestWaitMs = 365 * 86_400_000;

/** Whatever a caller without types passes becomes a text. */
export function shorten(text: unknown, most: number): string {
  try {
    return cut(String(text), most);
  } catch {
    return "";
  }
}
