import { type Command, canonicalJson, type Heartbeat, type HeartbeatAck } from "@rouse/contract";
import { isObject } from "../read-recovery.ts";
import type { OwnBreakers } from "./calls/own-breakers.ts";
import type { Facts } from "./gather-facts.ts";
import type { Identity } from "./identity.ts";
import type { Link, LinkCall, Outcome } from "./link.ts";
import { sendUntilAnswered } from "./send-until-answered.ts";
import { afterMs, hashOf, steadyNow } from "./surroundings.ts";
import { tellTime } from "./tell-time.ts";

/** What changed is told at once, but not more often than this. */
const leastBetweenMs = 250;

/** A beat that is still refused after so many changes is not sent again at once. */
const mostRepairs = 5;

type Settled = Exclude<Outcome, { kind: "later" }>;

/** `begin`: which life this is. `look`: who else numbers its beats. */
type Message =
  | { readonly kind: "begin" }
  | { readonly kind: "look" }
  | { readonly kind: "beat"; readonly beat: Heartbeat; readonly told: Told };

interface Told {
  /** How many changes the beat knows of. */
  readonly changes: number;
  heard(): void;
}

/** Ids to be named under `seen`, and who has read them. */
export interface Receipts {
  take(): { readonly fields: Pick<Heartbeat, "seen" | "seenBy" | "answer">; heard(): void };
}

export interface BeatParts {
  readonly who: Identity;
  readonly everyMs: number;
  readonly link: Link;
  readonly facts: Facts;
  readonly breakers: OwnBreakers;
  readonly receipts: Receipts;
  readonly hear: (commands: readonly Command[]) => void;
  /** Its life is known: the rest may be sent. */
  readonly onBegun: () => void;
  readonly onReplaced: (why: string) => void;
}

export function sendBeats(parts: BeatParts) {
  const { who, everyMs, link, facts, breakers, receipts } = parts;
  const time = tellTime();
  const self = crypto.randomUUID().slice(0, 13);
  let life = who.life;
  let begun = false;
  let keptOut = false;
  let number = 0;
  /** Rouse has taken a beat of this process. */
  let spoke = false;
  let clashed = false;
  /** A beat was built and not settled yet: what changes meanwhile is planned when it is. */
  let isOut = false;
  let changes = 1;
  let toldChanges = 0;
  let lastBuiltAt = Number.NEGATIVE_INFINITY;
  let dueAt = 0;
  let alarm: (() => void) | null = null;
  /** How often the same beat was put right. */
  let repairs = 0;

  const sender = sendUntilAnswered<Message>({
    isOver: link.isOver,
    onRetry: link.countRetry,
    onMistake: link.tellMistake,
    take,
    async send(message) {
      const outcome = await link.exchange(await callFor(message));
      // Its name or its token is wrong: that is for a person, and the same again is sent rarely.
      const isNo = outcome.kind === "refused" && message.kind !== "look" && outcome.fault.code !== "agent-unknown";
      const answer = isNo ? link.refuseBeats(outcome.fault.message) : outcome;
      if (message.kind === "begin") keptOut = answer.kind === "later";
      return answer;
    },
    settle,
  });
  link.countWaiting(() => (sender.current()?.kind === "beat" ? 1 : 0));

  function take(): Message | null {
    if (!begun) return { kind: "begin" };
    if (clashed) return { kind: "look" };
    const now = steadyNow();
    // A timer may go off a moment early.
    if (now < dueAt - 2) return null;
    lastBuiltAt = now;
    isOut = true;
    plan(now + everyMs);
    return build();
  }

  function build(): Message {
    const news = breakers.news();
    const read = receipts.take();
    const { healthMetrics, ...said } = facts.read(time.isoAt);
    const beat: Heartbeat = {
      agentId: who.id,
      sequenceNumber: ++number,
      timestamp: time.isoAt(steadyNow()),
      ...(life === null ? {} : { incarnation: life }),
      ...(who.task === null ? {} : { taskId: who.task }),
      ...(who.type === null ? {} : { agentType: who.type }),
      ...said,
      ...read.fields,
      ...(news.breakers.length === 0 ? {} : { breakers: [...news.breakers] }),
      // Tells apart processes that speak for one agent.
      healthMetrics: { ...healthMetrics, process: self },
    };
    const heard = (): void => {
      news.heard();
      read.heard();
    };
    return { kind: "beat", beat, told: { changes, heard } };
  }

  function plan(at: number): void {
    dueAt = at;
    alarm?.();
    alarm = afterMs(at - steadyNow(), sender.wake);
  }

  async function callFor(message: Message): Promise<LinkCall> {
    switch (message.kind) {
      case "begin":
        return life === null ? registration(who) : lastBeats(who.id);
      case "look":
        return lastBeats(who.id);
      case "beat":
        return {
          path: "/api/v1/heartbeats",
          ...(repairs > 2 ? { body: message.beat } : { text: await sealed(message.beat) }),
          understands: isAck,
          background: true,
        };
    }
  }

  function settle(message: Message, outcome: Settled, attempts: number): Message | null {
    switch (message.kind) {
      case "begin":
        return begin(outcome);
      case "look":
        clashed = false;
        return look(outcome);
      case "beat": {
        isOut = false;
        const again = acknowledged(message, outcome, attempts);
        isOut = again !== null;
        return again;
      }
    }
  }

  function begin(outcome: Settled): Message | null {
    begun = true;
    if (outcome.kind === "answered") {
      link.takeBeats();
      if (life === null) life = Number((outcome.body as { incarnation: number }).incarnation);
      else number = highest(numbered(outcome.body, life));
    }
    parts.onBegun();
    return null;
  }

  /** Nothing that was not numbered by this process may come between. */
  function look(outcome: Settled): Message | null {
    if (outcome.kind === "refused") return null;
    const known = numbered(outcome.body, life);
    const others = known.filter(({ process }) => process !== undefined && process !== self);
    const own = highest(known.filter(({ process }) => process === self));
    if (spoke && highest(others) > own) {
      replaced("another process speaks for it since");
      return null;
    }
    number = Math.max(number, highest(known));
    return null;
  }

  function acknowledged(
    message: Extract<Message, { kind: "beat" }>,
    outcome: Settled,
    attempts: number,
  ): Message | null {
    if (outcome.kind === "refused") return null;
    const ack = outcome.body as HeartbeatAck;
    if (ack.status === "rejected") return rejected(message, ack);
    repairs = 0;
    link.takeBeats();
    // A number that was never sent before, and yet was heard: somebody else numbers beats of this agent.
    const clashes = ack.status !== "accepted" && attempts === 1;
    if (clashes) {
      clashed = true;
      number += 1;
      changedNow();
    } else {
      spoke = true;
      toldChanges = Math.max(toldChanges, message.told.changes);
      message.told.heard();
    }
    parts.hear(ack.commands);
    if (changes > toldChanges) plan(Math.max(lastBuiltAt + leastBetweenMs, steadyNow()));
    return null;
  }

  function rejected(message: Extract<Message, { kind: "beat" }>, ack: HeartbeatAck): Message | null {
    const { beat, told } = message;
    switch (ack.because) {
      case "old-incarnation":
        replaced("a later life of it has begun");
        return null;
      case "wrong-checksum":
        if (++repairs > mostRepairs) break;
        return message;
      case "absurd-time":
        if (++repairs > mostRepairs) break;
        time.follow(ack.receivedAt);
        return { kind: "beat", beat: { ...beat, timestamp: time.isoAt(steadyNow()) }, told };
    }
    return refused(ack.problem ?? `a beat was refused as ${ack.because}`);
  }

  /** The next try is the next beat, which may be another one. */
  function refused(why: string): null {
    link.refuseBeats(why);
    plan(steadyNow() + Math.max(everyMs, 30_000));
    return null;
  }

  function replaced(why: string): void {
    const told = `This process of ${who.id} was replaced: ${why}. It beats no more.`;
    link.replace(told);
    stop();
    parts.onReplaced(told);
  }

  function changedNow(): void {
    changes += 1;
    if (begun && !isOut) plan(Math.max(lastBuiltAt + leastBetweenMs, steadyNow()));
  }

  function stop(): void {
    alarm?.();
    alarm = null;
  }

  return {
    /** Something worth a beat at once. */
    changed: changedNow,
    begin: sender.wake,
    hasBegun: () => begun,
    isKeptOut: () => keptOut,
    life: () => life,
    /** Resolves when Rouse knows everything that was said so far. */
    flush(): Promise<void> {
      const wanted = ++changes;
      plan(steadyNow());
      sender.wake();
      sender.hurry();
      return sender.until(() => toldChanges >= wanted);
    },
    stop,
  };
}

export type BeatSender = ReturnType<typeof sendBeats>;

const registration = ({ id, type, task }: Identity): LinkCall => ({
  path: "/api/v1/agents",
  background: true,
  body: { agentId: id, ...(type === null ? {} : { agentType: type }), ...(task === null ? {} : { taskId: task }) },
  understands: (body) => isObject(body) && typeof body["incarnation"] === "number",
});

const lastBeats = (id: string): LinkCall => ({
  path: `/api/v1/agents/${encodeURIComponent(id)}/heartbeats?limit=20`,
  background: true,
  understands: (body) => isObject(body) && Array.isArray(body["heartbeats"]),
});

interface Numbered {
  readonly number: number;
  readonly process: unknown;
}

/** Beats of this life that have a number. */
function numbered(body: unknown, life: number | null): Numbered[] {
  const { heartbeats } = body as { heartbeats: readonly Heartbeat[] };
  return heartbeats
    .filter(({ incarnation }) => incarnation === undefined || incarnation === life)
    .map(({ sequenceNumber = 0, healthMetrics }) => ({ number: sequenceNumber, process: healthMetrics?.["process"] }));
}

const highest = (beats: readonly Numbered[]): number => Math.max(0, ...beats.map(({ number }) => number));

const isAck = (body: unknown): boolean =>
  isObject(body) && typeof body["status"] === "string" && Array.isArray(body["commands"]);

/** The beat as it is sent, with its checksum; without one where nothing can make it (a page without TLS). */
async function sealed(beat: Heartbeat): Promise<string> {
  const text = canonicalJson(beat);
  const checksum = await hashOf(text);
  return checksum === null ? text : `${text.slice(0, -1)},"checksum":"${checksum}"}`;
}
