import { Fault } from "@rouse/contract";
import type { MemoryFolder } from "../../packages/daemon/src/adapters/states-memory/open-memory-states.ts";
import type { MemoryDisk } from "../../packages/daemon/src/adapters/store-memory/memory-disk.ts";
import type { SavedCheckpoint } from "../../packages/daemon/src/ports/store.ts";
import type { HeldActor } from "../actors/held-actor.ts";
import type { Speak } from "./monitor-world.ts";
import type { Random } from "./random.ts";
import type { Timeline } from "./virtual-time.ts";

const minute = 60_000;
const hour = 60 * minute;

interface Parts {
  readonly actors: ReadonlyMap<string, HeldActor>;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly disk: MemoryDisk;
  readonly folder: MemoryFolder;
  readonly speak: Speak;
  readonly wall: () => number;
  readonly violated: (text: string) => void;
  /** Somebody else has the task by now, or has ended it. */
  readonly isAnothers: (taskId: string, agentId: string) => boolean;
}

/** What a dying agent saves while its end is already being dealt with. */
const lastMoment = 5000;

const filler = "x".repeat(70_000);

/** Agents save where they are; now and then what was saved is damaged behind everybody's back. It alone knows what is still right. */
export function createCheckpoints(parts: Parts) {
  const { actors, timeline, random, disk, folder, speak, wall, violated, isAnothers } = parts;
  const brokenRows = new Set<string>();
  const brokenStates = new Map<string, string>();

  /**
   * The newest of a task that is as it was saved; `null`: none is. One that came in the very last moment may not have been seen. Whoever comes back to a
   * task that is another's by now begins with nothing.
   */
  function newestRight({ id: agentId, life: { taskId } }: HeldActor): readonly (string | null)[] {
    const chain = (disk.checkpointsOf.get(taskId) ?? []).toSorted((a, b) => b.number - a.number).filter(isRight);
    const settled = chain.find(({ time }) => Math.abs(wall() - time) > lastMoment);
    return [chain[0]?.id ?? null, settled?.id ?? null, ...(isAnothers(taskId, agentId) ? [null] : [])];
  }

  function isRight({ id, state, head }: SavedCheckpoint): boolean {
    if (brokenRows.has(id)) return false;
    if (state !== null) return true;
    const { stateHash } = JSON.parse(head) as { stateHash: string };
    const text = folder.get(stateHash);
    return text !== undefined && text !== brokenStates.get(stateHash);
  }

  /** Saves now and then for as long as this life lasts. */
  function follow(actor: HeldActor): void {
    const { incarnation, context } = actor.life;
    let isFirst = context !== null;
    const again = (): void => {
      timeline.after(random.between(15 * minute, 60 * minute), () => {
        if (actor.life.incarnation !== incarnation || !actor.isAlive()) return;
        if (actor.isWell() && actor.life.mode.kind === "working") {
          save(actor, isFirst ? (context?.checkpoint ?? null) : undefined);
          isFirst = false;
        }
        again();
      });
    };
    if (actor.traits.saves) again();
  }

  function save(actor: HeldActor, parent: string | null | undefined): void {
    const { incarnation, taskId } = actor.life;
    actor.step += 1;
    const { step, id: agentId } = actor;
    const state = random.chance(0.01) ? { step, filler } : { step };
    const sent = { step, stepName: `step ${step}`, state, ...(parent === undefined ? {} : { parent }) };
    const tell = (tries: number): void =>
      speak(
        (to) => to.help.checkpoints.save(taskId, sent, { agentId, incarnation }),
        (error) => {
          const isOurs = actor.life.incarnation === incarnation && actor.isAlive();
          const mayBeRefused = parent !== undefined || isDamaged(taskId) || isAnothers(taskId, agentId);
          if (error instanceof Fault && !error.retryable && isOurs && !mayBeRefused)
            violated(`${agentId} could not save step ${step}: ${error.message}`);
          else if (tries > 1) timeline.after(10_000, () => tell(tries - 1));
        },
      );
    tell(3);
  }

  const isDamaged = (taskId: string): boolean =>
    damaged.has(taskId) || (disk.checkpointsOf.get(taskId) ?? []).some((saved) => !isRight(saved));
  const damaged = new Set<string>();

  /** The newest few of one chain: a state changed or gone, a row changed or gone. */
  function damage(taskId: string): void {
    const chain = disk.checkpointsOf.get(taskId);
    if (chain === undefined || chain.length === 0) return;
    damaged.add(taskId);
    for (let n = random.whole(1, 3); n > 0 && chain.length >= n; n--) damageRow(chain, chain.length - n);
  }

  function damageRow(chain: SavedCheckpoint[], place: number): void {
    const saved = chain[place] as SavedCheckpoint;
    const replace = (changed: SavedCheckpoint): void => {
      chain[place] = changed;
      disk.checkpoints.set(changed.id, changed);
      brokenRows.add(changed.id);
    };
    const roll = random.next();
    if (roll < 0.25) {
      chain.splice(place, 1);
      disk.checkpoints.delete(saved.id);
    } else if (roll < 0.5) replace({ ...saved, head: saved.head.replace('"step":', '"step":9') });
    else if (roll < 0.6) replace({ ...saved, head: "{" });
    else if (saved.state !== null) replace({ ...saved, state: '{"step":-1}' });
    else damageState((JSON.parse(saved.head) as { stateHash: string }).stateHash);
  }

  function damageState(stateHash: string): void {
    if (random.chance(0.5)) return void folder.delete(stateHash);
    brokenStates.set(stateHash, '{"step":-2}');
    folder.set(stateHash, '{"step":-2}');
  }

  function planDamage(): void {
    timeline.after(random.until(2 * hour), () => {
      const actor = random.pick([...actors.values()]);
      damage(actor.life.taskId);
      planDamage();
    });
  }

  return { follow, newestRight, planDamage };
}

export type CheckpointWorld = ReturnType<typeof createCheckpoints>;
