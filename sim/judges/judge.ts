import type { AuditVerdict, HealthState, HeartbeatAck, RouseEvent, Settings } from "@rouse/contract";
import { readRecord } from "../../packages/core/src/read-record.ts";
import type { MemoryDisk } from "../../packages/daemon/src/adapters/store-memory/memory-disk.ts";
import type { Monitor } from "../../packages/daemon/src/monitor.ts";
import type { Actor, Rhythm, Sickness } from "../actors/actor.ts";
import type { OrchestratorTemper } from "../actors/orchestrator.ts";
import type { BreakerFindings } from "../world/breaker-world.ts";
import type { HeldFindings, HeldWorld } from "../world/held-world.ts";
import type { MonitorWorld } from "../world/monitor-world.ts";
import type { Network } from "../world/network.ts";
import type { Timeline } from "../world/virtual-time.ts";
import { type Delays, summarise } from "./summarise.ts";
import type { TaskFindings } from "./task-judge.ts";

type Ill = "UNRESPONSIVE" | "STUCK" | "FAILING";

/** What was simulated. */
interface Run {
  readonly seed: number;
  readonly orchestrator: OrchestratorTemper;
  readonly preset: string;
  readonly agents: number;
  readonly agentHours: number;
  /** What became of the tasks; `null` without agents that work on them. */
  readonly tasks: TaskFindings | null;
  /** How often what a well agent calls was down, and how often a person reset a breaker and the agent heard of it. */
  readonly breakers: BreakerFindings;
}

/** What a simulation found out about the monitor. Times in seconds. */
export interface Findings extends Run {
  readonly beats: number;
  readonly faults: number;
  readonly falseVerdicts: Readonly<Record<Ill, number>>;
  readonly trueVerdicts: Readonly<Record<Ill, number>>;
  readonly detection: {
    readonly working: Delays;
    readonly idle: Delays;
    readonly announced: Delays;
    readonly stuck: Delays;
    readonly failing: Delays;
  };
  /** What was done about it, and how that went; `null` without agents that Rouse holds. */
  readonly ladder: (HeldFindings & { readonly auditLines: number; readonly auditSound: boolean }) | null;
  /** Broken promises, each with the moment it happened. Empty is the only good answer. */
  readonly violations: readonly string[];
  /** Identifies everything the monitor did: equal for equal seeds. */
  readonly fingerprint: string;
}

interface Parts {
  readonly seed: number;
  readonly actors: ReadonlyMap<string, Actor>;
  readonly network: Network;
  readonly world: MonitorWorld;
  readonly timeline: Timeline;
  readonly disk: MemoryDisk;
  readonly delivered: ReadonlyMap<string, number>;
  readonly rhythm: Rhythm;
  readonly settings: Settings;
  /** Those that are held, and whoever judges them. */
  readonly held: () => HeldWorld;
  /** Passes every event on to the other judges. */
  readonly note: (event: RouseEvent) => void;
}

const second = 1000;
const minute = 60 * second;

/** Knows the truth, reads the verdicts, and holds one against the other in both directions. */
export function createJudge(parts: Parts) {
  const { actors, network, world, timeline, disk, delivered, rhythm, settings, held } = parts;
  const states = new Map<string, HealthState>();
  const acked = new Map<string, { incarnation: number; sequence: number }>();
  const curedAt = new Map<string, { was: Sickness; at: number }>();
  /** By agent: the longest stuck time it came back from by itself. The monitor allows it a quarter more next time. */
  const longestStuck = new Map<string, number>();
  const delays = {
    working: [] as number[],
    idle: [] as number[],
    announced: [] as number[],
    stuck: [] as number[],
    failing: [] as number[],
  };
  const falseVerdicts: Record<Ill, number> = { UNRESPONSIVE: 0, STUCK: 0, FAILING: 0 };
  const trueVerdicts: Record<Ill, number> = { UNRESPONSIVE: 0, STUCK: 0, FAILING: 0 };
  const violations: string[] = [];
  const raised: string[] = [];
  let beats = 0;
  let gaps = 0;
  /** Until when many were silent together and nobody was judged for it. */
  let heldUntil = 0;
  let lastRead = 0;
  let fingerprint = 0x811c9dc5;

  const violated = (text: string): void => {
    if (violations.length < 100)
      violations.push(`seed ${parts.seed}, at ${(timeline.now() / second).toFixed(2)} s: ${text}`);
  };

  const ttlOf = (actor: Actor): number => 3 * (actor.isKnownIdle() ? rhythm.idle : rhythm.running);

  /** Is the verdict right, as far as anyone outside the agent could know? */
  function isTrue(state: Ill, actor: Actor): boolean {
    const cured = curedAt.get(actor.id);
    // The first beats after a cure may be lost like any others.
    const recent =
      cured !== undefined && timeline.now() - cured.at < 10 * second + 3 * rhythm.idle ? cured.was.kind : null;
    const kind = actor.sickness?.kind ?? recent;
    switch (state) {
      case "UNRESPONSIVE":
        return kind === "dead" || kind === "hung" || isOutOfReach(actor);
      case "STUCK":
        return kind === "stuck";
      case "FAILING":
        return kind === "failing";
    }
  }

  /** Cut off long enough, with the two beats that may be lost before; where many are, longer than the hold that must come first. */
  function isOutOfReach(actor: Actor): boolean {
    const cut = network.cutOffFor(actor.id);
    if (cut === null) return network.justHealed(actor.id);
    // Two beats lost by chance and the third by a cut that is too young for anybody else to have gone quiet: three in a row are silence.
    if (network.missedInARow(actor.id) >= 3 && cut.lasted < rhythm.running) return true;
    return cut.lasted >= (cut.mass ? 1.2 : 0.3) * ttlOf(actor);
  }

  function noteVerdict(agentId: string, to: HealthState, because: string): void {
    states.set(agentId, to);
    const isRight = held().noteVerdict(agentId, to, because);
    if (isRight !== undefined && isRight !== null && isIll(to)) (isRight ? trueVerdicts : falseVerdicts)[to] += 1;
    const actor = actors.get(agentId);
    if (actor === undefined || !isIll(to)) return;
    if (!isTrue(to, actor)) {
      falseVerdicts[to] += 1;
      const doing = `${actor.mode.kind}, ${actor.beatsByTimer ? "beats by timer" : "blocks"}, sickness ${actor.sickness?.kind ?? "none"}`;
      return violated(
        `${agentId} was called ${to} because ${because} (${doing}; last fault of ours ended ${((timeline.now() - world.faultUntil) / second).toFixed(0)} s ago)`,
      );
    }
    trueVerdicts[to] += 1;
    noteDelay(actor, to);
  }

  function noteDelay(actor: Actor, to: Ill): void {
    const { sickness } = actor;
    if (sickness === null) return;
    const now = timeline.now();
    // What happened while the monitor had a fault of its own, or doubted its own path, says nothing about how fast it is.
    if (sickness.since < Math.max(world.faultUntil + 2 * minute, heldUntil)) return;
    if ((sickness.kind === "dead" || sickness.kind === "hung") && to === "UNRESPONSIVE") {
      if (sickness.announcedUntil > sickness.since) {
        delays.announced.push(Math.max(0, now - sickness.announcedUntil) / second);
      } else delays[sickness.during === "idle" ? "idle" : "working"].push((now - sickness.since) / second);
    }
    if (sickness.kind === "stuck" && to === "STUCK") delays.stuck.push((now - sickness.since) / second);
    if (sickness.kind === "failing" && to === "FAILING") delays.failing.push((now - sickness.since) / second);
  }

  /** Reads what was saved, not what was said: a crash between the two loses the second only. */
  function readVerdicts(): void {
    let unread = disk.events.length;
    while (unread > 0 && (disk.events[unread - 1]?.id ?? 0) > lastRead) unread -= 1;
    for (const { id, event } of disk.events.slice(unread)) {
      if (id !== lastRead + 1) violated(`event ${id} follows event ${lastRead}`);
      lastRead = id;
      fingerprint = mix(fingerprint, `${timeline.now()}|${id}|${event.type}|${withoutChance(event.payload)}`);
      parts.note(event);
      if (event.type === "HEALTH_STATE_CHANGED") {
        const because = event.payload.findings.map((finding) => finding.text).join("; ");
        noteVerdict(event.payload.agentId, event.payload.to, because);
      }
      if (event.type === "ALERT_RAISED") raised.push(event.payload.alert);
      if (event.type === "MONITOR_GAP" || event.type === "VERDICTS_HELD_BACK") gaps += 1;
      if (event.type === "VERDICTS_HELD_BACK") heldUntil = Number.POSITIVE_INFINITY;
      if (event.type === "VERDICTS_RESUMED" || event.type === "MONITOR_STARTED") heldUntil = timeline.now();
    }
  }

  /** The other direction: nobody sick is left alone for longer than the promises allow. */
  function lookForTheForgotten(): void {
    const now = timeline.now();
    for (const actor of actors.values()) {
      const { sickness } = actor;
      if (sickness === null || now < world.faultUntil + 2 * minute) continue;
      const state = states.get(actor.id) ?? "HEALTHY";
      const since = Math.max(
        sickness.since,
        world.faultUntil,
        "announcedUntil" in sickness ? sickness.announcedUntil : 0,
      );
      const allowed = allowedFor(sickness, actor);
      const wanted = wantedFor(sickness);
      // An agent that failed and is stuck now keeps the graver verdict, so somebody knows of it.
      const isSeen = state === wanted || (wanted === "STUCK" && state === "FAILING");
      if (now - since > allowed && !isSeen) {
        violated(
          `${actor.id} has been ${sickness.kind} for ${((now - sickness.since) / minute).toFixed(1)} min and is ${state}`,
        );
        actor.sickness = { ...sickness, since: Number.POSITIVE_INFINITY };
      }
    }
  }

  function allowedFor(sickness: Sickness, actor: Actor): number {
    const check = settings.health_check;
    if (sickness.kind === "stuck") {
      // The monitor learns of the beginning and of the end up to one beat later.
      const history = 1.25 * ((longestStuck.get(actor.id) ?? 0) + 2 * rhythm.running);
      return Math.max(check.checkpoint_stale_threshold_seconds * second, history) + 5 * minute;
    }
    if (sickness.kind === "failing") return (check.consecutive_failures + 4) * rhythm.running + minute;
    return 4 * ttlOf(actor) + minute;
  }

  /** After a crash: every beat that was acknowledged is known to the monitor that comes back. */
  function checkResumed(monitor: Monitor): void {
    const known = new Map(monitor.agents().map((agent) => [agent.agentId, agent]));
    for (const [agentId, ack] of acked) {
      const shelf = [...disk.records.values()].find((record) => record.agentId === agentId);
      const record = shelf === undefined ? null : readRecord(shelf.record);
      const saved = shelf === undefined ? [] : (disk.shelves.get(shelf.agentNo)?.signals ?? []);
      const last = saved[saved.length - 1];
      const lastSaved =
        last === undefined ? null : ((JSON.parse(last.body) as { sequenceNumber?: number }).sequenceNumber ?? null);
      const highest = Math.max(record?.beats.lastSequence ?? 0, lastSaved ?? 0);
      const agent = known.get(agentId);
      if (agent === undefined) violated(`${agentId} was acknowledged and is unknown after the restart`);
      else if (agent.incarnation === ack.incarnation && highest < ack.sequence) {
        violated(
          `beat ${ack.sequence} of ${agentId} was acknowledged and is gone after the restart (${highest} is the last)`,
        );
      }
    }
  }

  function findings(run: Run, audit: AuditVerdict): Findings {
    readVerdicts();
    for (const { number, problem } of audit.problems.slice(0, 3))
      violated(`line ${number} of the audit trail: ${problem}`);
    const undelivered = raised.filter((key) => !delivered.has(key) && !disk.actions.has(key));
    if (undelivered.length > 0)
      violated(`${undelivered.length} alerts were decided and neither delivered nor waiting: ${undelivered[0]}`);
    return {
      ...run,
      beats,
      faults: gaps,
      falseVerdicts,
      trueVerdicts,
      detection: {
        working: summarise(delays.working),
        idle: summarise(delays.idle),
        announced: summarise(delays.announced),
        stuck: summarise(delays.stuck),
        failing: summarise(delays.failing),
      },
      ladder:
        held().actors.size === 0 ? null : { ...held().findings(), auditLines: audit.entries, auditSound: audit.sound },
      violations,
      fingerprint: (fingerprint >>> 0).toString(16).padStart(8, "0"),
    };
  }

  return {
    violated,
    noteAck(actor: Actor, ack: HeartbeatAck): void {
      beats += 1;
      if (ack.status !== "accepted" || ack.sequenceNumber === null || actor.announces !== "incarnation") return;
      acked.set(ack.agentId, { incarnation: actor.incarnation, sequence: ack.sequenceNumber });
    },
    noteCure(actor: Actor): void {
      const { id, sickness } = actor;
      if (sickness === null) return;
      const at = timeline.now();
      curedAt.set(id, { was: sickness, at });
      if (sickness.kind === "stuck") longestStuck.set(id, Math.max(longestStuck.get(id) ?? 0, at - sickness.since));
    },
    readVerdicts,
    lookForTheForgotten,
    checkResumed,
    findings,
  };
}

export type Judge = ReturnType<typeof createJudge>;

const isIll = (state: HealthState): state is Ill =>
  state === "UNRESPONSIVE" || state === "STUCK" || state === "FAILING";

const wantedFor = (sickness: Sickness): Ill =>
  sickness.kind === "stuck" ? "STUCK" : sickness.kind === "failing" ? "FAILING" : "UNRESPONSIVE";

/** Orders of people have keys that are never the same twice. */
const withoutChance = (payload: object): string =>
  JSON.stringify(payload).replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "…");

/** FNV-1a: enough to tell two histories apart. */
function mix(hash: number, text: string): number {
  let h = hash;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h;
}
