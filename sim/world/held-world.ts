import type { HealthState, HeartbeatAck, Policy, RecoveryContext, RouseEvent } from "@rouse/contract";
import { isStanding } from "../../packages/core/src/limit.ts";
import { readRecord } from "../../packages/core/src/read-record.ts";
import type { AgentRecord } from "../../packages/core/src/record.ts";
import type { MemoryFolder } from "../../packages/daemon/src/adapters/states-memory/open-memory-states.ts";
import type { MemoryDisk } from "../../packages/daemon/src/adapters/store-memory/memory-disk.ts";
import type { Config } from "../../packages/daemon/src/config/read-config.ts";
import { createEyes, eyeNames } from "../actors/eyes.ts";
import { HeldActor } from "../actors/held-actor.ts";
import type { HeldSickness } from "../actors/held-life.ts";
import { createHeldSicknesses, planStarvation } from "../actors/held-sicknesses.ts";
import { chooseTraits } from "../actors/held-traits.ts";
import { createLimits } from "../actors/limits.ts";
import { createOrchestrator, type OrchestratorTemper, type SimulatedOrchestrator } from "../actors/orchestrator.ts";
import { planPersons } from "../actors/persons.ts";
import { type QuietName, quietKind, quietNames, tellingEye } from "../actors/quiet-kinds.ts";
import { createTerminals } from "../actors/show-terminal.ts";
import type { SicknessName } from "../actors/sickness-names.ts";
import { judgeBudgets } from "../judges/budget-judge.ts";
import { type HandsFindings, judgeHands } from "../judges/hands-judge.ts";
import { judgeHeld } from "../judges/held-judge.ts";
import { judgeLadder, type LadderFindings } from "../judges/ladder-judge.ts";
import { judgeLimits, type LimitFindings } from "../judges/limit-judge.ts";
import { type QuietFindings, tallyQuiet } from "../judges/quiet-tally.ts";
import { judgeSicknesses, type SicknessFindings } from "../judges/sickness-judge.ts";
import type { BreakerWorld } from "./breaker-world.ts";
import { createCheckpoints } from "./checkpoints.ts";
import { createHolderPorts, type HolderPorts } from "./holder-port.ts";
import { createHolders, type HolderWorld } from "./holders.ts";
import type { Speak } from "./monitor-world.ts";
import { wallAtStart } from "./monitor-world.ts";
import type { Letter } from "./network.ts";
import { type Random, seededRandom } from "./random.ts";
import type { Timeline } from "./virtual-time.ts";
import { createFolders, type Folders } from "./workspaces.ts";

/** Agents with these sicknesses read nothing. */
const hearsNothing: ReadonlySet<HeldSickness["kind"]> = new Set<HeldSickness["kind"]>(["hung", "request", "tool"]);

const second = 1000;
const minute = 60 * second;

interface Parts {
  readonly count: number;
  /** Agents that nobody holds. */
  readonly others: number;
  /** Whether the configuration knows the policies that let less be done. */
  readonly policies: boolean;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly disk: MemoryDisk;
  readonly folder: MemoryFolder;
  readonly config: Config;
  readonly wall: () => number;
  readonly speak: Speak;
  readonly send: (letter: Letter) => void;
  /** For agents that beat every few seconds, which do not repeat a lost beat. */
  readonly sendOnce: (letter: Letter) => void;
  readonly temper: OrchestratorTemper;
  readonly breakers: BreakerWorld;
  /** The machine is overloaded, and the monitor runs on it, too. */
  readonly slowMonitor: (lasts: number) => void;
  readonly isCutOff: (agentId: string) => boolean;
  readonly violated: (text: string) => void;
  readonly excusedSince: (at: number) => number;
  readonly blindSince: (at: number) => number;
  /** Somebody else has the task by now, or has ended it. */
  readonly isAnothers: (taskId: string, agentId: string) => boolean;
}

export type HeldFindings = LadderFindings &
  HandsFindings & {
    readonly mostStopsInWindow: number;
    readonly lookAlikes: number;
    readonly eyeFailures: number;
    readonly limits: LimitFindings;
    readonly quiet: Readonly<Record<QuietName, QuietFindings>>;
    readonly sicknesses: Readonly<Record<SicknessName, SicknessFindings>>;
  };

export interface HeldWorld {
  readonly actors: ReadonlyMap<string, HeldActor>;
  readonly holders: HolderWorld;
  readonly ports: HolderPorts;
  readonly folders: Folders;
  readonly orchestrator: SimulatedOrchestrator;
  note(event: RouseEvent): void;
  /** `undefined`: it is not held; `null`: it is no verdict. */
  noteVerdict(agentId: string, to: HealthState, because: string): boolean | null | undefined;
  lookForTheForgotten(): void;
  findings(): HeldFindings;
}

/** Everything about agents that Rouse holds: their lives, their holders, the people around them, and whoever judges what is done to them. */
export function createHeldWorld(parts: Parts): HeldWorld {
  const { timeline, random, disk, folder, config, speak, excusedSince, wall, breakers } = parts;
  const now = timeline.now;
  const actors = new Map<string, HeldActor>();
  const numbers = new Map<string, number>();

  /** What the monitor has saved of an agent. */
  function recordOf(agentId: string): AgentRecord | null {
    if (!numbers.has(agentId)) for (const saved of disk.records.values()) numbers.set(saved.agentId, saved.agentNo);
    const saved = disk.records.get(numbers.get(agentId) ?? -1);
    return saved === undefined ? null : readRecord(saved.record);
  }

  /** Adds what the monitor knew: whether it or the judge is wrong is the first question. */
  function violated(text: string): void {
    const record = recordOf(/held-\d+/.exec(text)?.[0] ?? "");
    if (record === null) return parts.violated(text);
    const { activity, longestQuiet } = record.work;
    const { limit, terminal } = record.seen;
    const { handedOver } = record.ladder;
    parts.violated(
      `${text} | known: ${JSON.stringify({ activity, limit, longestQuiet, handedOver, asks: terminal?.asks })}`,
    );
  }

  const isHandedOver = (agentId: string): boolean => recordOf(agentId)?.ladder.handedOver != null;
  /** A person was told that its limit may be over and that it does not visibly go on. */
  function isLeftAtLimit(agentId: string): boolean {
    const limit = recordOf(agentId)?.seen.limit ?? null;
    return isStanding(limit) && limit.told;
  }

  const hostOf = (agentId: string): string => recordOf(agentId)?.identity.node ?? "here";
  const policyOf = (agentId: string): Policy =>
    config.policyFor({ agentId, agentType: null, taskId: null, policy: actors.get(agentId)?.traits.policy ?? null });

  const ids = Array.from({ length: parts.count }, (_, i) => `held-${i + 1}`);
  const eyes = createEyes(timeline, seededRandom(random.whole(1, 2 ** 30)), ids);
  const terminals = createTerminals(random);
  const holders = createHolders({ timeline, random, terminals, eyes, wall, announce });
  const { isAnothers } = parts;
  const checkpoints = createCheckpoints({ actors, timeline, random, disk, folder, speak, wall, violated, isAnothers });
  const budget = judgeBudgets(config.killBudget, now, violated);
  const isAtLimit = (agentId: string): boolean => {
    const limit = actors.get(agentId)?.limit ?? null;
    return limit !== null && now() < Math.max(limit.resetAt, limit.overAt);
  };
  const ladder = judgeLadder({ now, violated, policyOf, excusedSince, isAtLimit });
  const folders = createFolders(timeline, random, actors);
  const hands = judgeHands({
    now,
    violated,
    budget,
    hostOf,
    newestRight: checkpoints.newestRight,
    isSafe: folders.isSafe,
    holderOf: holders.of,
    isCutOff: parts.isCutOff,
    blindSince: parts.blindSince,
    noteStop(actor, key, by) {
      tally.stopped(actor, by === "rouse" ? by : "others");
      cases.stopped(actor, key, by !== "rouse");
    },
  });
  const { temper } = parts;
  const holderOf = holders.of;
  const { isOpen } = ladder;
  const verdicts = judgeHeld({
    now,
    violated,
    policyOf,
    holderOf,
    isOpen,
    isLeftAtLimit,
    excusedSince,
    eyes,
  });
  const tally = tallyQuiet({ actors, recordOf, policyOf, steady: () => wallAtStart + now() });
  const cases = judgeSicknesses({
    now,
    violated,
    policyOf,
    excusedSince,
    holderOf,
    temper,
    wasSeenSince: (agentId, since, eye) =>
      (eye === undefined ? eyeNames : [eye]).every((one) => eyes.wasOpenSince(one, agentId, since)),
    isHandedOver: (agentId) => isHandedOver(agentId) || isLeftAtLimit(agentId),
  });
  const sicknesses = createHeldSicknesses({
    actors,
    timeline,
    random,
    holders,
    terminals,
    show,
    noteIll: cases.fellIll,
    noteDeath(actor) {
      hands.noteDeath(actor);
      cases.died(actor);
    },
    others: parts.others,
    noteMassDeath: ladder.manyDied,
  });
  const limits = createLimits({ actors, timeline, random: seededRandom(random.whole(1, 2 ** 30)), holders });
  const limited = judgeLimits({ now, violated, actors, excusedSince, holderOf, isOpen, isHandedOver });
  const isWell = (agentId: string): boolean => actors.get(agentId)?.isWell() === true;
  const orchestrator = createOrchestrator({ timeline, random, speak, temper, isWell });
  const ports = createHolderPorts({
    holders,
    actors,
    timeline,
    random,
    witness: hands.witness,
    wall,
    startLife,
    reach,
  });

  /** What comes with every new life: a holder, beats, checkpoints, and what is chronic. */
  function live(actor: HeldActor): void {
    holders.take(actor);
    hands.noteAttached(actor);
    ladder.taskIs(actor.id, actor.life.taskId);
    if (!actor.taskDone) checkpoints.follow(actor);
    sicknesses.relapse(actor);
    limits.follow(actor);
    if (actor.traits.beats) beatOn(actor, actor.life.incarnation, random.between(second, 20 * second));
  }

  function startLife(actor: HeldActor, context: RecoveryContext | null): void {
    actor.begin("rouse", context, false, now());
    live(actor);
  }

  function startByHand(actor: HeldActor, nextTask: boolean): void {
    if (actor.isAlive()) return;
    actor.begin("person", null, nextTask, now());
    live(actor);
  }

  function beatOn(actor: HeldActor, incarnation: number, delay: number): void {
    timeline.after(delay, () => {
      if (actor.life.incarnation !== incarnation || !actor.isAlive()) return;
      if (!actor.isSilent() && !actor.isHoarse(now())) beat(actor);
      if (actor.traits.rhythm !== "once") beatOn(actor, incarnation, nextBeatIn(actor));
    });
  }

  function nextBeatIn({ traits, life: { mode } }: HeldActor): number {
    const late = mode.kind === "quiet" && mode.as === "starved" ? random.between(0, 20 * minute) : 0;
    if (traits.rhythm === "seconds") return 5 * second + random.between(-100, 100);
    if (traits.rhythm === "irregular") return random.between(minute, 40 * minute);
    return 300 * second + random.between(-100, 100) + late;
  }

  function beat(actor: HeldActor): void {
    const sentAt = now();
    // Without a holder nobody looks at the agent, and it goes on all the same.
    if (holders.of(actor.id)?.dead === true) actor.liveUntil(sentAt);
    const { life } = actor;
    const message = breakers.addTo(actor.beat(sentAt, wall()));
    const node = actor.id.endsWith("3") ? { node: "node-far" } : {};
    const answered = (ack: HeartbeatAck): void => {
      breakers.answered(actor.id, ack, sentAt);
      if (actor.life !== life || ack.status === "rejected") return;
      if (life.cure !== null && sentAt >= life.cure.at) actor.noteSeen("beat", now());
      for (const { id, kind } of ack.commands) if (kind === "nudge") hear(actor, id);
    };
    const letter = { beat: { ...message, ...node }, from: actor, acknowledged: false, answered };
    if (actor.traits.rhythm === "seconds") parts.sendOnce(letter);
    else parts.send(letter);
  }

  /** An agent that beats announces a new mode at once. */
  function announce(actor: HeldActor): void {
    const { beats, rhythm } = actor.traits;
    if (beats && (rhythm === "minutes" || rhythm === "seconds") && !actor.isHoarse(now())) beat(actor);
  }

  /** A nudge that came with an acknowledgement: read once, named in the next beat. */
  function hear(actor: HeldActor, id: string): void {
    if (heard.has(id)) return;
    heard.add(id);
    actor.life.seen.push(id);
    if (actor.isWell() && actor.traits.readBy === "agent") answer(actor, id);
    reach(actor);
  }
  const heard = new Set<string>();

  /** A well agent that reads its nudges answers within some minutes. */
  function answer(actor: HeldActor, id: string): void {
    const { life } = actor;
    timeline.after(random.between(second, 8 * minute), () => {
      if (actor.life !== life || !actor.isWell()) return;
      life.answers.push(id);
      beat(actor);
    });
  }

  /** Somebody has spoken to it: it comes round, or it does not. */
  function reach(actor: HeldActor): void {
    const { life } = actor;
    const { sickness } = life;
    if (sickness === null || hearsNothing.has(sickness.kind) || !random.chance(sickness.reacts)) return;
    timeline.after(random.between(3 * second, minute), () => {
      if (actor.life === life && life.sickness === sickness && actor.isAlive()) sicknesses.cure(actor);
    });
  }

  function show(actor: HeldActor): void {
    const holder = holders.of(actor.id);
    if (holder !== undefined) holders.report(holder, terminals.showLife(actor), null, true);
    if (actor.traits.beats) beat(actor);
  }

  for (let i = 1; i <= parts.count; i++) {
    const actor = new HeldActor(`held-${i}`, chooseTraits(i, random, parts.policies), random, 0);
    actors.set(actor.id, actor);
    if (actor.traits.beats)
      breakers.add(actor.id, {
        isWell: () => actor.isWell(),
        toolsFail: () => actor.life.sickness?.kind === "failing",
      });
    timeline.plan(random.between(0, 5 * minute), () => live(actor));
  }
  // Of each quiet kind, one is never seen by the eye that could tell it from a sick one.
  for (const name of quietNames) {
    const unseen = [...actors.values()].filter(({ traits }) => traits.quiet === name)[1];
    if (unseen !== undefined) eyes.shutForGood(tellingEye(quietKind(name)), unseen.id);
  }
  sicknesses.plan();
  limits.plan();
  eyes.planFailures();
  planStarvation({ actors, timeline, random, holders, slowMonitor: parts.slowMonitor });
  planPersons({
    actors,
    timeline,
    random,
    holders,
    speak,
    standing: (agentId) => {
      const record = recordOf(agentId);
      return { incident: record?.ladder.incident != null, handedOver: record?.ladder.handedOver != null };
    },
    startByHand,
    cure: sicknesses.cure,
    noteHelp: hands.noteHelp,
    noteAttached: hands.noteAttached,
    bedtime: random.between(0, 24),
    freezes: hands.freezes,
  });
  if (parts.count > 0) checkpoints.planDamage();

  /** What the monitor says tells the judges what to expect of it from then on. */
  function note(event: RouseEvent): void {
    ladder.note(event);
    tally.note(event);
    cases.note(event);
    limited.note(event);
    budget.note(event, hostOf);
    const agentId = "agentId" in event.payload ? event.payload.agentId : null;
    const actor = typeof agentId === "string" ? actors.get(agentId) : undefined;
    if (actor === undefined) return;
    if (event.type === "AGENT_HELD") verdicts.noteHeld(actor.id, event.payload.incarnation);
    if (event.type === "RESTART_ORDERED" && event.payload.because === "ordered")
      hands.orderedBack(actor.id, event.payload.incarnation);
    if (event.type === "RESTARTS_EXHAUSTED" || event.type === "RECOVERY_FAILED") hands.excuse(actor, "budget");
    if (event.type === "INCIDENT_OPENED") verdicts.noteIncident(event.payload.incident, event.payload.cause);
    if (event.type === "INCIDENT_CLOSED" && event.payload.because === "well-again")
      verdicts.noteWell(actor, event.payload.incident);
    if (event.type === "INCIDENT_CLOSED" && event.payload.because === "handed-off") hands.excuse(actor, "handed off");
    if (event.type === "INCIDENT_CLOSED" && event.payload.because === "ended-by-person")
      hands.excuse(actor, "a person");
  }

  return {
    actors,
    holders,
    ports,
    folders,
    orchestrator,
    note,
    noteVerdict(agentId, to, because) {
      const actor = actors.get(agentId);
      return actor === undefined ? undefined : verdicts.noteVerdict(actor, to, because);
    },
    lookForTheForgotten() {
      ladder.lookForTheForgotten();
      verdicts.lookForTheForgotten(actors.values());
      cases.lookForTheForgotten();
      tally.look();
      limited.lookForTheForgotten();
    },
    findings: () => ({
      ...ladder.findings(),
      ...hands.findings(),
      mostStopsInWindow: budget.most(),
      lookAlikes: verdicts.lookAlikes(),
      eyeFailures: eyes.failures(),
      limits: limited.findings(),
      quiet: tally.findings(),
      sicknesses: cases.findings(),
    }),
  };
}
