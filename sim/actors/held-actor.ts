import type { Heartbeat, ProcessFacts, RecoveryContext } from "@rouse/contract";
import type { Random } from "../world/random.ts";
import type { HeldLife, HeldMode, HeldSickness, QuietMode, WorldLimit } from "./held-life.ts";
import type { Traits } from "./held-traits.ts";
import { declaredTimeout, type QuietLook, type QuietName, quietKind } from "./quiet-kinds.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

const firstPid = 1000;

export class HeldActor {
  readonly id: string;
  readonly traits: Traits;
  life: HeldLife;
  /** Falls ill in the same way soon after every start, until somebody looks into it. */
  chronic: HeldSickness["kind"] | "crash" | null = null;
  /** The limit it ran into, until it works again. */
  limit: WorldLimit | null = null;
  /** Starting it again fails until then. */
  respawnFailsUntil = 0;
  step = 0;
  /** Its task is completed: whoever brings it back all the same has nothing to save. */
  taskDone = false;
  /** The longest quiet stretch that ended with something new to see. */
  longestQuiet = 0;
  private readonly random: Random;
  private tasks = 1;
  private tokens = 0;
  private calls = 0;
  private errors = 0;
  private cpuMs = 0;
  private ioBytes = 0;
  private networkBytes = 0;
  private changes = 0;
  private measuredAt = 0;

  constructor(id: string, traits: Traits, random: Random, now: number) {
    this.id = id;
    this.traits = traits;
    this.random = random;
    this.life = this.newLife(1, "person", null, now);
  }

  private newLife(
    incarnation: number,
    begunBy: HeldLife["begunBy"],
    context: RecoveryContext | null,
    now: number,
  ): HeldLife {
    this.cpuMs = 0;
    this.ioBytes = 0;
    this.networkBytes = 0;
    this.changes = 0;
    this.measuredAt = now;
    this.calls = 0;
    this.errors = 0;
    this.tokens = 0;
    return {
      incarnation,
      pid: firstPid + incarnation,
      startedAt: now,
      taskId: `task-${this.id}-${this.tasks}`,
      foreground: begunBy === "person" && this.traits.foreground,
      begunBy,
      context,
      mode: { kind: "working", until: now + this.random.between(minute, 20 * minute) },
      sickness: null,
      cure: null,
      visitors: 0,
      exit: null,
      finished: false,
      sequence: 0,
      seen: [],
      answers: [],
      beatsThroughTool: 0,
      timerKnown: false,
    };
  }

  /** The next life: brought back with what it was given, or started anew by a person. */
  begin(begunBy: HeldLife["begunBy"], context: RecoveryContext | null, nextTask: boolean, now: number): HeldLife {
    this.taskDone = !nextTask && (this.taskDone || this.life.finished);
    if (nextTask) {
      this.tasks += 1;
      this.step = 0;
    } else if (context !== null) this.step = context.step ?? 0;
    this.life = this.newLife(this.life.incarnation + 1, begunBy, context, now);
    return this.life;
  }

  isAlive(): boolean {
    return this.life.exit === null;
  }

  /** It lives and nothing is the matter with it. */
  isWell(): boolean {
    return this.isAlive() && this.life.sickness === null;
  }

  /** Its process ended at a limit, and everybody can see until when it waits; `null`: it did not. */
  downAtLimitUntil(): number | null {
    const { limit, life } = this;
    if (life.exit === null) return null;
    const own = life.mode.kind === "limited" ? life.mode.until : 0;
    const ended = limit !== null && limit.incarnation === life.incarnation;
    const told = ended ? limit.resetAt + (limit.named ? 0 : hour) : 0;
    return Math.max(own, told) || null;
  }

  isSilent(): boolean {
    return !this.isAlive() || this.life.sickness?.kind === "hung";
  }

  /** Its beats are lost for now. A sick agent's beats get through: losing those is not what this trait tests. */
  isHoarse(now: number): boolean {
    const { startedAt, sickness } = this.life;
    return this.traits.hoarse && sickness === null && (now - startedAt) % (10 * hour) > 7 * hour;
  }

  attached(): number {
    return this.life.visitors + (this.life.foreground ? 1 : 0);
  }

  fallIll(sickness: HeldSickness): void {
    this.life.sickness = sickness;
    this.life.cure = null;
  }

  /** The sickness is over. The monitor still has to see that. */
  comeRound(now: number): void {
    const { sickness } = this.life;
    if (sickness === null || !this.isAlive()) return;
    const shows = new Set(this.traits.beats ? ["report", "beat"] : ["report"]);
    this.life.cure = { at: now, was: sickness, awaits: shows, seenAt: null };
    this.life.sickness = null;
    this.life.mode = { kind: "working", until: now + this.random.between(5 * minute, 20 * minute) };
  }

  /** The monitor has saved a sign that the agent is well: a report of its terminal, or a beat. */
  noteSeen(by: "report" | "beat", now: number): void {
    const { cure } = this.life;
    if (cure === null || cure.seenAt !== null) return;
    cure.awaits.delete(by);
    if (cure.awaits.size === 0) cure.seenAt = now;
  }

  /** Lives on until `now`: begins the next mode when the present one is over. True when the mode changed. */
  liveUntil(now: number): boolean {
    const { life } = this;
    if (life.sickness !== null || now < life.mode.until) return false;
    if (life.mode.kind === "limited") this.limit = null;
    life.mode = this.nextMode(now);
    return true;
  }

  private nextMode(now: number): HeldMode {
    const { random } = this;
    if (this.life.mode.kind !== "working")
      return { kind: "working", until: now + random.between(5 * minute, 40 * minute) };
    const { quiet } = this.traits;
    // `planStarvation` starves a whole machine at once, so no agent chooses this mode by itself.
    if (quiet !== null && quiet !== "starved" && random.chance(0.6)) return this.beQuiet(quiet, now);
    const roll = random.next();
    if (roll < 0.4) return { kind: "thinking", until: now + random.between(minute, 4 * minute) };
    if (roll < 0.65) return this.quietWork(now);
    if (roll < 0.82) return { kind: "asking", until: now + random.between(minute, 3 * hour) };
    return { kind: "limited", until: now + random.between(minute, 50 * minute) };
  }

  /** The quiet mode lasts as long as its kind says, unless `until` is given. */
  beQuiet(as: QuietName, now: number, until: number | null = null): QuietMode {
    const { random } = this;
    const kind = quietKind(as);
    const lasts = until === null ? random.between(...kind.lasts) : until - now;
    return {
      kind: "quiet",
      as,
      since: now,
      until: now + lasts,
      look: kind.look(random),
      id: `q${now}`,
      timeoutSeconds: declaredTimeout(kind, lasts, random),
      recognised: random.chance(0.5),
    };
  }

  /** An agent with a stream or beats announces the tool it runs. One without either looks busy instead. */
  private quietWork(now: number): HeldMode {
    const { random, traits } = this;
    if (traits.structured || (traits.beats && !traits.hoarse)) {
      const lasts = random.between(minute, random.chance(0.2) ? 50 * minute : 12 * minute);
      const timeoutSeconds = Math.ceil(lasts / second) + random.whole(30, 300);
      return { kind: "tool", since: now, until: now + lasts, id: `t${now}`, timeoutSeconds, busy: random.chance(0.6) };
    }
    const longest = traits.secretive ? 4 * hour : 75 * minute;
    return { kind: "building", since: now, until: now + random.between(minute, longest) };
  }

  isBusy(): boolean {
    const { mode, sickness } = this.life;
    if (sickness !== null) return sickness.busy;
    if (mode.kind === "tool") return mode.busy;
    return mode.kind === "building" || (mode.kind === "working" && !this.traits.mute && this.random.chance(0.5));
  }

  /** What its processes show. A stream that works talks to its model; a call that hangs keeps its connection and nothing else. */
  private look(): QuietLook {
    const { mode, sickness } = this.life;
    if (sickness === null && mode.kind === "quiet") return mode.look;
    const busy = this.isBusy();
    const works = sickness === null && mode.kind === "working";
    const talks = works && this.traits.structured;
    return {
      cpu: busy ? 0.6 : 0.01,
      sockets: this.traits.structured ? 1 : 0,
      bytesPerSecond: talks ? 500 : 0,
      changesPerMinute: works && busy ? 1 : 0,
      child: sickness === null && (mode.kind === "building" || mode.kind === "tool") && busy,
      readsTerminal: false,
      repeats: 0,
    };
  }

  /** What its processes have used up by now, and what else is seen of them. */
  measure(now: number, wall: number): ProcessFacts {
    const elapsed = now - this.measuredAt;
    this.measuredAt = now;
    const { cpu, sockets, bytesPerSecond, changesPerMinute, child, readsTerminal } = this.look();
    const { mode, startedAt } = this.life;
    this.cpuMs += elapsed * cpu;
    this.ioBytes += elapsed * (cpu >= 0.6 ? 10 : 0.1);
    this.networkBytes += (elapsed * bytesPerSecond) / second;
    this.changes += (elapsed * changesPerMinute) / minute;
    // What a stream says is told a moment after it was written, and by then the child runs.
    const bornAt = child && "since" in mode ? mode.since - 1500 : startedAt;
    return {
      processes: child ? 4 : 3,
      cpuMs: Math.round(this.cpuMs),
      ioBytes: Math.round(this.ioBytes),
      memoryBytes: 100_000_000,
      network: { sockets, bytes: Math.round(this.networkBytes) },
      files: { changes: Math.floor(this.changes) },
      youngestChildAt: wall - (now - bornAt),
      readsTerminal,
    };
  }

  /** What it says of itself. */
  beat(now: number, wall: number): Heartbeat {
    const { life } = this;
    life.sequence += 1;
    this.countWork();
    life.beatsThroughTool = life.mode.kind === "tool" ? life.beatsThroughTool + 1 : 0;
    if (this.traits.rhythm === "seconds" && life.beatsThroughTool >= 8) life.timerKnown = true;
    const seen = life.seen.splice(0, 20);
    const answered = life.answers.shift();
    return {
      agentId: this.id,
      incarnation: life.incarnation,
      sequenceNumber: life.sequence,
      taskId: life.taskId,
      ...this.describeMode(wall, now),
      tokenCount: this.tokens,
      errorCount: this.errors,
      toolCallCount: this.calls,
      progressIndicator: `step ${this.step}`,
      ...(seen.length === 0 ? {} : { seen, seenBy: this.traits.readBy }),
      ...(answered === undefined ? {} : { answer: { to: answered, kind: "update" as const } }),
    };
  }

  /** Tokens of the whole run so far. */
  spend(): number {
    this.tokens += this.random.whole(200, 4000);
    return this.tokens;
  }

  private countWork(): void {
    const { mode, sickness } = this.life;
    if (sickness?.kind === "failing") {
      this.errors += 2;
      this.calls += 2;
    }
    if (sickness !== null || (mode.kind !== "working" && mode.kind !== "thinking")) return;
    this.step += 1;
    this.calls += this.random.whole(2, 9);
    this.spend();
  }

  private describeMode(wall: number, now: number): Partial<Heartbeat> {
    const { mode } = this.life;
    switch (mode.kind) {
      case "working":
      case "thinking":
        // A structured agent's stream tells which call is open, so its beats do not.
        return this.traits.structured ? { status: "RUNNING" } : { status: "RUNNING", open: null };
      case "building":
      case "quiet":
        return { status: "RUNNING", open: null };
      case "tool":
        return { status: "RUNNING", open: { kind: "tool", name: "build", timeoutSeconds: mode.timeoutSeconds } };
      case "asking":
        return { status: "WAITING", waitingFor: "input" };
      case "limited":
        return {
          status: "WAITING",
          waitingFor: "provider",
          waitingUntil: new Date(wall + Math.max(0, mode.until - now)).toISOString(),
        };
    }
  }
}
