import type { TaskPriority } from "@rouse/contract";
import type { TaskTruth } from "../judges/task-truth.ts";
import type { Random } from "../world/random.ts";
import type { AskTasks, Order, TaskCall } from "../world/task-line.ts";
import type { Timeline } from "../world/virtual-time.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

interface Parts {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly ask: AskTasks;
  readonly workers: readonly string[];
  /** How the tasks stand, as anybody could read it. */
  readonly queued: () => readonly TaskTruth[];
  readonly isDisabled: (agentId: string) => boolean;
}

const priorities: readonly TaskPriority[] = ["low", "normal", "normal", "normal", "high", "high", "critical"];

/** Whoever fills the queue, and the people who see to what is blocked, failed or unwanted. */
export function planTaskOrders({ timeline, random, ask, workers, queued, isDisabled }: Parts): void {
  let created = 0;
  const names: string[] = [];

  /** Says it again where no answer came; a person gives up after a while. */
  function say(call: TaskCall, tries = 4): void {
    ask(call, (answer) => {
      if (answer.kind === "unheard" && tries > 1)
        timeline.after(random.between(second, minute), () => say(call, tries - 1));
    });
  }

  const order = (verb: Order, taskId: string, body: Readonly<Record<string, unknown>> = {}): void =>
    say({ by: "person", verb, taskId, body });

  function create(): void {
    timeline.after(random.until((30 * minute) / workers.length), create);
    const waiting = queued().filter(({ status }) => status === "pending").length;
    if (waiting >= 4 * workers.length) return;
    created += 1;
    const taskId = `q-${created}`;
    order("create", taskId, describe(taskId));
    names.push(taskId);
  }

  function describe(taskId: string): Readonly<Record<string, unknown>> {
    const timeout = random.chance(0.4) ? { timeoutMinutes: random.whole(20, 150) } : {};
    return {
      title: `simulated ${taskId}`,
      priority: random.pick(priorities),
      onTimeout: random.pick(["reassign", "reassign", "cancel", "person"]),
      dependsOn: chooseDependencies(taskId),
      ...timeout,
    };
  }

  /** Mostly on what came before; now and then on what nobody has made yet, and on something that waits for this one. */
  function chooseDependencies(taskId: string): string[] {
    if (random.chance(0.65) || names.length < 3) return [];
    const recent = names.slice(-25);
    const chosen = Array.from({ length: random.whole(1, 3) }, () => random.pick(recent));
    if (random.chance(0.05)) chosen.push(`q-${created + random.whole(1, 3)}`);
    const waiting = queued().find((task) => task.dependsOn.includes(taskId));
    if (waiting !== undefined && random.chance(0.5)) chosen.push(waiting.taskId);
    return [...new Set(chosen)];
  }

  /** What waits for a person is looked at, and what failed is tried again, or left. */
  function lookAround(): void {
    for (const { taskId, status, because, claim, createdAt } of queued()) {
      if (status === "pending" && timeline.now() - createdAt > 8 * hour && random.chance(0.3)) order("cancel", taskId);
      if (status === "blocked" && random.chance(claim === null ? 0.4 : 0.2))
        order(random.chance(0.9) ? "unblock" : "cancel", taskId);
      if (status === "failed" && random.chance(0.05)) order("retry", taskId);
      if (status === "cancelled" && because === "timed-out" && random.chance(0.05)) order("retry", taskId);
    }
    for (const agentId of workers)
      if (isDisabled(agentId) && random.chance(0.15)) say({ by: "person", verb: "trust", agentId });
    timeline.after(random.between(10 * minute, 30 * minute), lookAround);
  }

  function interfere(): void {
    const open = queued().filter(({ status }) => status !== "completed");
    if (open.length > 0) {
      const { taskId } = random.pick(open);
      const roll = random.next();
      if (roll < 0.25) order("cancel", taskId);
      else if (roll < 0.6) order("reassign", taskId, random.chance(0.4) ? { to: random.pick(workers) } : {});
      else if (roll < 0.8) order("block", taskId);
      else if (roll < 0.9) order("retry", taskId);
      else order("unblock", taskId);
    }
    timeline.after(random.until((10 * hour) / workers.length), interfere);
  }

  timeline.after(random.between(0, minute), create);
  timeline.after(random.between(10 * minute, 30 * minute), lookAround);
  timeline.after(random.until(hour), interfere);
}
