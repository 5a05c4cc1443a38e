import type { HeartbeatAck, TaskReport } from "@rouse/contract";
import type { Letter } from "../world/network.ts";
import type { Random } from "../world/random.ts";
import type { AskTasks, TaskAnswer, TaskCall } from "../world/task-line.ts";
import type { Timeline } from "../world/virtual-time.ts";
import type { InHand, TaskWorker } from "./task-worker.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

interface Parts {
  readonly workers: readonly TaskWorker[];
  readonly timeline: Timeline;
  readonly random: Random;
  readonly ask: AskTasks;
  /** How often workers beat. */
  readonly rhythm: number;
  readonly send: (letter: Letter) => void;
  readonly wall: () => number;
  readonly register: (worker: TaskWorker) => void;
  /** Tasks that somebody may have heard of. */
  readonly known: () => readonly string[];
  /** What an agent holds by the monitor's account; calls back when it was told. */
  readonly askWhatItHolds: (agentId: string, told: (tasks: readonly TaskReport[]) => void) => void;
}

type AgentCall = Extract<TaskCall, { by: "agent" }>;

/** The lives of those who work through the queue: they claim, work, end what they have, hang, die with it in hand, and come back. */
export function workOnTasks(parts: Parts): void {
  const { workers, timeline, random, ask } = parts;
  const now = timeline.now;

  /** Acts for one life. Whoever hangs goes on where it was when it wakes up. */
  function later(worker: TaskWorker, life: number, delay: number, act: () => void): void {
    timeline.after(delay, () => {
      if (worker.incarnation !== life || worker.state.kind === "dead") return;
      if (worker.state.kind === "hung") later(worker, life, worker.state.until - now() + 1, act);
      else act();
    });
  }

  /** Says it again until there is an answer, as a client would: the monitor may have heard it the first time. */
  function say(worker: TaskWorker, call: AgentCall, heard: (answer: TaskAnswer) => void, tries = 5): void {
    const life = worker.incarnation;
    ask(call, (answer) =>
      later(worker, life, 0, () => {
        if (answer.kind !== "unheard" || tries === 1) return heard(answer);
        later(worker, life, random.between(second, 20 * second), () => say(worker, call, heard, tries - 1));
      }),
    );
  }

  function live(worker: TaskWorker): void {
    const { incarnation: life, traits } = worker;
    if (traits.beats) beatOn(worker, life);
    if (life > 1 && traits.asksWhatItHolds)
      return parts.askWhatItHolds(worker.id, (tasks) => takeUp(worker, life, tasks));
    later(worker, life, random.between(5 * second, 5 * minute), () => goOn(worker));
  }

  /** A new life that knows what the one before it held claims that anew, or gives it back. */
  function takeUp(worker: TaskWorker, life: number, tasks: readonly TaskReport[]): void {
    later(worker, life, random.between(second, minute), () => {
      for (const { taskId } of tasks)
        say(worker, worker.request("claim", taskId), (answer) => {
          const hand = note(worker, answer);
          if (hand !== null && random.chance(0.3))
            say(worker, worker.request("release", taskId, hand), () => drop(worker, hand));
        });
      later(worker, life, 2 * minute, () => goOn(worker));
    });
  }

  function goOn(worker: TaskWorker): void {
    const hand = worker.hand[0];
    const life = worker.incarnation;
    const again = (low: number, high: number): void =>
      later(worker, life, random.between(low, high), () => goOn(worker));
    if (hand === undefined) return lookForWork(worker, again);
    if (hand.blocked) return waitForPerson(worker, hand, () => again(8 * minute, 20 * minute));
    const isIdle = hand.idle !== null && now() > hand.idle.from && now() < hand.idle.until;
    if (!isIdle && now() >= hand.endsAt) return end(worker, hand, () => again(second, minute));
    const next = (): void => again(2 * minute, 16 * minute);
    if (isIdle)
      return say(worker, worker.request("refresh", hand.taskId, hand), (answer) => heed(worker, hand, answer, next));
    // Who has two at once works on both, and now and then somebody asks for one more.
    if (worker.hand.length < 2 && random.chance(0.04))
      return say(worker, worker.request("claim-next", null), (answer) => {
        note(worker, answer);
        next();
      });
    work(worker, hand, next);
  }

  function lookForWork(worker: TaskWorker, again: (low: number, high: number) => void): void {
    const known = parts.known();
    const byName = known.length > 0 && random.chance(0.25);
    const call = byName ? worker.request("claim", random.pick(known)) : worker.request("claim-next", null);
    say(worker, call, (answer) => {
      if (note(worker, answer) === null) return again(minute, 8 * minute);
      // Not everybody begins at once what it was given; some ask once more, as if they had not heard.
      if (random.chance(0.05)) return say(worker, call, () => again(second, minute));
      again(second, 12 * minute);
    });
  }

  /** Takes in hand what the answer gave. */
  function note(worker: TaskWorker, answer: TaskAnswer): InHand | null {
    if (answer.kind !== "granted" || answer.task === null || answer.task.claim?.agentId !== worker.id) return null;
    const { taskId, claim } = answer.task;
    const before = worker.hand.find((hand) => hand.taskId === taskId);
    if (before !== undefined && before.claim === claim.number) return before;
    if (before !== undefined) drop(worker, before);
    const hand = worker.take(taskId, claim.number, now());
    worker.hand.push(hand);
    return hand;
  }

  function work(worker: TaskWorker, hand: InHand, next: () => void): void {
    const roll = random.next();
    if (roll > 0.85) return next();
    if (roll < 0.04) {
      hand.blocked = true;
      const call = { ...worker.request("update", hand.taskId, hand), status: "blocked" } as const;
      return say(worker, call, (answer) => heed(worker, hand, answer, next));
    }
    const verb = roll < 0.15 ? "refresh" : "update";
    for (const other of worker.hand.slice(1))
      say(worker, worker.request("update", other.taskId, other), () => undefined);
    say(worker, worker.request(verb, hand.taskId, hand), (answer) => heed(worker, hand, answer, next));
  }

  function waitForPerson(worker: TaskWorker, hand: InHand, next: () => void): void {
    const goesOn = random.chance(0.2);
    const call = goesOn
      ? ({ ...worker.request("update", hand.taskId, hand), status: "running" } as const)
      : worker.request("refresh", hand.taskId, hand);
    say(worker, call, (answer) => heed(worker, hand, answer, next));
  }

  /** Who is refused has lost the task, and leaves it alone. */
  function heed(worker: TaskWorker, hand: InHand, answer: TaskAnswer, next: () => void): void {
    if (answer.kind === "refused") drop(worker, hand);
    if (answer.kind === "granted" && answer.task !== null) hand.blocked = answer.task.status === "blocked";
    next();
  }

  function end(worker: TaskWorker, hand: InHand, next: () => void): void {
    say(worker, worker.request(hand.end, hand.taskId, hand), (answer) => {
      if (answer.kind !== "unheard") drop(worker, hand);
      // Who ended one of two begins the other.
      next();
    });
  }

  function drop(worker: TaskWorker, hand: InHand): void {
    worker.hand = worker.hand.filter((other) => other !== hand);
  }

  function beatOn(worker: TaskWorker, life: number): void {
    if (worker.incarnation !== life || worker.state.kind === "dead") return;
    if (worker.state.kind === "working") beat(worker);
    timeline.after(parts.rhythm + random.between(-100, 100), () => beatOn(worker, life));
  }

  function beat(worker: TaskWorker, status?: "FINISHED"): void {
    const life = worker.incarnation;
    const hand = worker.hand[0];
    const isIdle = hand?.idle != null && now() > hand.idle.from && now() < hand.idle.until;
    const works = hand !== undefined && !isIdle && !hand.blocked;
    const message = worker.beat(now(), parts.wall(), works, status);
    const isProgress = worker.progressAt === now();
    const { sent } = worker;
    const answered = (ack: HeartbeatAck): void => {
      if (ack.status !== "accepted") return;
      worker.noteHeard(life, now(), sent);
      // It counts from when it was heard, which may be long after it was sent.
      if (isProgress) worker.progressAt = now();
      if (status === "FINISHED" && worker.saidDone) worker.doneHeardAt = now();
    };
    const from = { id: worker.id, isSilent: () => worker.isSilent() || worker.incarnation !== life };
    parts.send({ beat: message, from, acknowledged: false, answered });
  }

  function hang(worker: TaskWorker, lasts: number): void {
    worker.state = { kind: "hung", since: now(), until: now() + lasts };
    const { state } = worker;
    timeline.after(lasts, () => {
      if (worker.state === state) worker.state = { kind: "working" };
    });
  }

  function die(worker: TaskWorker, downFor: number, finished = false): void {
    if (finished && worker.traits.beats) {
      worker.saidDone = true;
      beat(worker, "FINISHED");
    }
    worker.state = { kind: "dead", since: now() };
    timeline.after(downFor, () => {
      worker.beginLife();
      if (worker.traits.beats && random.chance(0.5)) parts.register(worker);
      live(worker);
    });
  }

  /** Its next life begins while the process of this one still runs, cut off from everybody, and speaks later of what it had. */
  function split(worker: TaskWorker): void {
    const { hand } = worker;
    const calls = hand.flatMap((one) => [
      worker.request("update", one.taskId, one),
      worker.request(random.pick(["complete", "fail", "release", "claim"]), one.taskId, one),
    ]);
    if (random.chance(0.7)) calls.push(worker.request("claim-next", null));
    die(worker, random.between(second, 10 * minute));
    for (const call of calls) timeline.after(random.between(15 * minute, hour), () => ask(call, () => undefined));
  }

  function sicken(worker: TaskWorker): void {
    timeline.after(random.until(7 * hour), () => {
      sicken(worker);
      if (worker.state.kind !== "working") return;
      const roll = random.next();
      if (roll < 0.3) die(worker, random.between(2 * minute, 40 * minute));
      else if (roll < 0.45) die(worker, random.between(hour, 4 * hour));
      else if (roll < 0.55) die(worker, random.between(10 * second, hour), true);
      else if (roll < 0.7) hang(worker, random.between(2 * minute, 40 * minute));
      else if (roll < 0.8) hang(worker, random.between(hour, 3 * hour));
      else split(worker);
    });
  }

  for (const worker of workers) {
    timeline.plan(random.between(0, parts.rhythm), () => live(worker));
    sicken(worker);
  }
}
