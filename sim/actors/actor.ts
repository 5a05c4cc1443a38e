import type { Heartbeat } from "@rouse/contract";
import type { Random } from "../world/random.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

export interface Rhythm {
  readonly running: number;
  readonly idle: number;
}

/** What is really the matter with an agent, known only to the world. */
export type Sickness =
  | {
      readonly kind: "dead" | "hung";
      readonly since: number;
      readonly during: Mode["kind"];
      readonly announcedUntil: number;
    }
  | { readonly kind: "stuck" | "failing"; readonly since: number };

export type Mode =
  | { readonly kind: "idle"; readonly until: number }
  | { readonly kind: "working"; readonly until: number }
  | { readonly kind: "tool"; readonly until: number; readonly timeoutSeconds: number; readonly name: string }
  | { readonly kind: "waiting"; readonly until: number; readonly on: "input" | "provider" | "children" | "schedule" };

/**
 * One simulated agent: it works, idles, waits, runs long tools, and beats. Some beat by a timer whatever they do; others cannot beat while a
 * tool or a wait holds them up, as a single-threaded program cannot.
 */
export class Actor {
  readonly id: string;
  readonly node: string;
  readonly beatsByTimer: boolean;
  /** How a new life shows: by a number of its own, by starting to count again, or not at all. */
  readonly announces: "incarnation" | "sequence" | "nothing";
  incarnation = 1;
  sequence = 0;
  lives = 0;
  sickness: Sickness | null = null;
  mode: Mode;
  private readonly random: Random;
  private task = 0;
  private calls = 0;
  private errors = 0;
  private tokens = 0;
  private checkpoint = 0;
  private step = 0;
  private nextCallAt = 0;
  private nextCheckpointAt = 0;
  /** Whether the monitor can know by now that this incarnation beats through tools and waits. */
  private heldBeats = 0;
  private acknowledgedMode: Mode | null = null;

  constructor(id: string, node: string, random: Random, now: number) {
    this.id = id;
    this.node = node;
    this.random = random;
    this.beatsByTimer = random.chance(0.75);
    this.announces = random.pick(["incarnation", "incarnation", "sequence", "nothing"]);
    this.mode = { kind: "working", until: now + random.between(minute, 20 * minute) };
  }

  /** A new life after a death. */
  revive(now: number): void {
    this.incarnation += 1;
    this.sequence = 0;
    this.calls = 0;
    this.errors = 0;
    this.tokens = 0;
    this.sickness = null;
    this.mode = { kind: "working", until: now + this.random.between(minute, 20 * minute) };
    this.nextCallAt = 0;
    this.nextCheckpointAt = 0;
    this.heldBeats = 0;
  }

  isSilent(): boolean {
    return this.sickness?.kind === "dead" || this.sickness?.kind === "hung";
  }

  /** Whether the monitor expects the rhythm of an idle agent. */
  isKnownIdle(): boolean {
    return this.mode.kind === "idle" && this.acknowledgedMode === this.mode;
  }

  /** In the middle of a tool or a wait that it cannot beat through, and the monitor knows. */
  isBlocked(now: number): boolean {
    const held = this.mode.kind === "tool" || this.mode.kind === "waiting";
    return held && !this.beatsByTimer && this.acknowledgedMode === this.mode && now < this.mode.until;
  }

  /** When the agent next says something, seen from `now`. */
  nextBeatAt(now: number, rhythm: Rhythm): number {
    // Before it beats more rarely, or not at all for a while, it makes sure that the monitor knows.
    if (this.acknowledgedMode !== this.mode) return now + rhythm.running;
    const due = now + (this.mode.kind === "idle" ? rhythm.idle : rhythm.running);
    if (this.beatsByTimer || this.mode.kind === "idle" || this.mode.kind === "working") return due;
    return Math.max(due, this.mode.until);
  }

  /** Lives on until `now` and says how it is. */
  beat(now: number, wall: number): Heartbeat {
    this.liveUntil(now);
    this.sequence += 1;
    if (this.mode.kind === "tool" || this.mode.kind === "waiting") this.heldBeats += 1;
    return {
      agentId: this.id,
      node: this.node,
      timestamp: new Date(wall).toISOString(),
      ...(this.announces === "nothing" ? {} : { sequenceNumber: this.sequence }),
      ...(this.announces === "incarnation" ? { incarnation: this.incarnation } : {}),
      ...this.describeMode(wall, now),
      tokenCount: this.tokens,
      errorCount: this.errors,
      toolCallCount: this.calls,
      progressIndicator: `step ${this.step}`,
      lastCheckpoint: `c${this.checkpoint}`,
    };
  }

  private liveUntil(now: number): void {
    if (now >= this.mode.until && this.sickness === null) {
      this.mode = this.nextMode(now);
      if (this.heldBeats < 6) this.heldBeats = 0;
    }
    if (this.mode.kind !== "working") return;
    if (this.sickness?.kind === "stuck") return;
    if (this.sickness?.kind === "failing") {
      this.calls += 1;
      this.errors += 1;
      return;
    }
    if (this.nextCallAt === 0) this.nextCallAt = now;
    while (this.nextCallAt <= now) {
      this.calls += 1;
      this.step += 1;
      this.tokens += this.random.whole(200, 4000);
      if (this.random.chance(0.06)) this.errors += 1;
      // Mostly seconds, sometimes a long think; never as long as the slowest healthy model seen.
      this.nextCallAt += this.random.chance(0.03)
        ? this.random.between(minute, 5.4 * minute)
        : this.random.between(3 * second, minute);
    }
    if (now >= this.nextCheckpointAt) {
      this.checkpoint += 1;
      this.nextCheckpointAt = now + this.random.between(minute, 12 * minute);
    }
  }

  private nextMode(now: number): Mode {
    const { random } = this;
    if (this.mode.kind !== "working") {
      if (this.mode.kind === "idle") this.task += 1;
      this.nextCallAt = 0;
      return { kind: "working", until: now + random.between(minute, 25 * minute) };
    }
    const roll = random.next();
    if (roll < 0.35) return { kind: "idle", until: now + random.between(30 * second, hour) };
    if (roll < 0.7) {
      const lasts = random.chance(0.2)
        ? random.between(5 * minute, 25 * minute)
        : random.between(10 * second, 5 * minute);
      const timeoutSeconds = Math.ceil(lasts / second) + random.whole(0, 300);
      return { kind: "tool", until: now + lasts, timeoutSeconds, name: random.pick(["test", "build", "browse"]) };
    }
    const on = random.pick(["input", "provider", "children", "schedule"] as const);
    const longest = { input: 3 * hour, provider: 50 * minute, children: 70 * minute, schedule: 40 * minute }[on];
    return { kind: "waiting", until: now + random.between(20 * second, longest), on };
  }

  /** The monitor acknowledged a beat sent in this mode. */
  acknowledged(mode: Mode): void {
    if (mode === this.mode) this.acknowledgedMode = mode;
  }

  private describeMode(wall: number, now: number): Partial<Heartbeat> {
    const { mode } = this;
    switch (mode.kind) {
      case "idle":
        return { status: "IDLE", taskId: null };
      case "working":
        return { status: "RUNNING", taskId: `task-${this.id}-${this.task}`, open: null };
      case "tool":
        return {
          status: "RUNNING",
          taskId: `task-${this.id}-${this.task}`,
          open: { kind: "tool", name: mode.name, timeoutSeconds: mode.timeoutSeconds },
        };
      case "waiting": {
        const until =
          mode.on === "provider" || mode.on === "schedule"
            ? { waitingUntil: new Date(wall + Math.max(0, mode.until - now)).toISOString() }
            : {};
        return { status: "WAITING", taskId: `task-${this.id}-${this.task}`, waitingFor: mode.on, ...until };
      }
    }
  }

  /** Without numbers on its beats, a cut line looks like a blocking tool: then nobody can be sure. */
  private isKnownToBeatByTimer(): boolean {
    return this.beatsByTimer && this.heldBeats >= 6 && this.announces !== "nothing";
  }

  /** The end of the silence it announced, if it cannot beat through what it does: until then nobody can know. */
  announcedUntil(now: number): number {
    if (this.mode.kind === "idle" || this.mode.kind === "working" || this.isKnownToBeatByTimer()) return now;
    if (this.mode.kind === "tool") return now + Math.max(10 * minute, (this.mode.timeoutSeconds + 60) * second);
    if (this.mode.on === "provider" || this.mode.on === "schedule") return Math.max(now, this.mode.until) + minute;
    return now + (this.mode.on === "input" ? 24 * hour : 90 * minute);
  }
}
