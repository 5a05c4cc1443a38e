import type { Heartbeat } from "@rouse/contract";
import type { Random } from "../world/random.ts";
import type { AgentVerb, TaskCall } from "../world/task-line.ts";

const minute = 60_000;

/** What kind of worker it is, for its whole life. */
export interface WorkerTraits {
  /** Some never register and never beat: the task service is all they know of Rouse. */
  readonly beats: boolean;
  /** Its token says which incarnation speaks. */
  readonly hasToken: boolean;
  /** It names the number of its claim with every report. */
  readonly namesClaim: boolean;
  /** Its beats name the task it works on. */
  readonly namesTask: boolean;
  /** Its beats count its calls: its progress counts for the task it claimed. */
  readonly counts: boolean;
  /** A new life asks what it still holds; others know of nothing and ask for the next task. */
  readonly asksWhatItHolds: boolean;
  /** The share of its tasks that fail. */
  readonly errorRate: number;
}

/** A task as its worker knows it. */
export interface InHand {
  readonly taskId: string;
  readonly claim: number;
  readonly endsAt: number;
  readonly end: "complete" | "fail" | "release";
  /** It does nothing for the task from then until then, and says all the same that it means its claim. */
  readonly idle: { readonly from: number; readonly until: number } | null;
  blocked: boolean;
}

export type WorkerState =
  | { readonly kind: "working" }
  | { readonly kind: "hung"; readonly since: number; readonly until: number }
  | { readonly kind: "dead"; readonly since: number };

/** One agent that works through the queue, over all its lives. Nobody holds it. */
export class TaskWorker {
  readonly id: string;
  readonly node: string;
  readonly traits: WorkerTraits;
  state: WorkerState = { kind: "working" };
  incarnation = 1;
  hand: InHand[] = [];
  /** The latest life that the monitor has heard of, and when it last took a beat of it. */
  knownLife = 0;
  heardAt = Number.NEGATIVE_INFINITY;
  /** It has said that it is done, and no later life was heard; `doneHeardAt`: when the monitor took that beat. */
  saidDone = false;
  doneHeardAt: number | null = null;
  /** When it last sent anything that counts as progress. */
  progressAt = Number.NEGATIVE_INFINITY;
  private sequence = 0;
  private calls = 0;
  /** What its last beat said of its work, and the last that the monitor took. */
  sent = { said: "", calls: 0 };
  private heard = { said: "", calls: 0 };
  private readonly random: Random;

  constructor(number: number, random: Random) {
    this.id = `worker-${number}`;
    this.node = `node-w${1 + (number % 3)}`;
    this.random = random;
    this.traits = {
      beats: number % 8 !== 0,
      hasToken: random.chance(0.6),
      namesClaim: random.chance(0.7),
      namesTask: random.chance(0.2),
      counts: random.chance(0.3),
      asksWhatItHolds: random.chance(0.6),
      errorRate: random.pick([0.02, 0.02, 0.05, 0.1, 0.45]),
    };
  }

  isSilent(): boolean {
    return this.state.kind !== "working" || !this.traits.beats;
  }

  beginLife(): void {
    this.incarnation += 1;
    this.sequence = 0;
    this.calls = 0;
    this.heard = { said: "", calls: 0 };
    this.hand = [];
    this.state = { kind: "working" };
  }

  /** The monitor has taken a message of this life; `sent`: what a beat said of its work. */
  noteHeard(life: number, now: number, sent = this.heard): void {
    this.heardAt = now;
    if (life === this.incarnation) this.heard = sent;
    if (life <= this.knownLife) return;
    this.knownLife = life;
    this.saidDone = false;
    this.doneHeardAt = null;
  }

  /** What it plans with a task that it was given. */
  take(taskId: string, claim: number, now: number): InHand {
    const { random, traits } = this;
    const lasts = random.chance(0.12)
      ? random.between(90 * minute, 240 * minute)
      : random.between(3 * minute, 60 * minute);
    const idleFrom = now + random.between(0, lasts / 2);
    const idle = { from: idleFrom, until: idleFrom + random.between(35 * minute, 80 * minute) };
    const isIdle = random.chance(0.1);
    const roll = random.next();
    const end = roll < traits.errorRate ? "fail" : roll > 0.95 ? "release" : "complete";
    const endsAt = isIdle ? Math.max(now + lasts, idle.until) : now + lasts;
    return { taskId, claim, endsAt, end, idle: isIdle ? idle : null, blocked: false };
  }

  request(verb: AgentVerb, taskId: string | null, hand: InHand | null = null): Extract<TaskCall, { by: "agent" }> {
    const life = this.traits.hasToken ? this.incarnation : null;
    const claim = this.traits.namesClaim ? hand?.claim : undefined;
    return { by: "agent", verb, agentId: this.id, life, taskId, claim };
  }

  /** A beat; `works`: it has achieved something since the last one. */
  beat(now: number, wall: number, works: boolean, status?: "FINISHED"): Heartbeat {
    this.sequence += 1;
    const { counts, namesTask } = this.traits;
    const taskId = namesTask ? (this.hand[0]?.taskId ?? null) : undefined;
    const said = `${status ?? this.hand.length > 0} ${taskId}`;
    if (counts && works) this.calls += 1;
    // To begin something, or something else, is progress too; and what a lost beat told of is news in the next one.
    if (counts && (works || said !== this.heard.said || this.calls > this.heard.calls)) this.progressAt = now;
    this.sent = { said, calls: this.calls };
    return {
      agentId: this.id,
      node: this.node,
      incarnation: this.incarnation,
      sequenceNumber: this.sequence,
      timestamp: new Date(wall).toISOString(),
      status: status ?? (this.hand.length > 0 ? "RUNNING" : "IDLE"),
      ...(taskId === undefined ? {} : { taskId }),
      ...(counts ? { toolCallCount: this.calls } : {}),
    };
  }
}
