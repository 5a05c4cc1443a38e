import {
  type Checkpoint,
  type EpochMs,
  type EscalationNotice,
  type Heartbeat,
  type HolderInfo,
  type MonoMs,
  minutes,
  type PartialSettings,
  type RouseEvent,
} from "@rouse/contract";
import type { AgentRecord } from "@rouse/core";
import type { Escalations } from "../api/escalations.ts";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { dawn, taskWorld } from "../tasks/task-world.test-support.ts";
import { takeOrders } from "./take-orders.ts";
import { tellEscalations } from "./tell-escalations.ts";

export { dawn };

const toWall = (at: MonoMs): EpochMs => dawn + at;

/** Questions about agents as the monitor has them: the real orders, turns and group commit on the store in memory, and a clock the story moves. */
export async function escalationDesk(changes: PartialSettings = {}) {
  const text = JSON.stringify({ preset: "default", health_monitoring: changes });
  const config = requireConfig(readConfig({ file: { name: "test", text } }));
  const world = await taskWorld({ config: text });
  const orders = takeOrders({ ...world, toWall, config: () => config });
  let checkpoint: Checkpoint | null = null;
  const checkpoints = {
    list: async (taskId: string) => ({ taskId, checkpoints: checkpoint === null ? [] : [checkpoint], next: null }),
  };
  const { readClock, store } = world;
  const teller = tellEscalations({ orders, store, checkpoints, config: () => config, readClock, toWall });

  async function notice(id: string): Promise<EscalationNotice | null> {
    await world.saved();
    return teller.notice(id);
  }

  const escalations: Escalations = {
    ...orders,
    events: store.readEvents,
    escalationNotice: notice,
    async howItEnded(id) {
      await world.saved();
      return teller.howItEnded(id);
    },
  };

  const beat = (agentId: string, said: Partial<Heartbeat> = {}): void =>
    world.beats({ agentId, status: "RUNNING", ...said });

  return {
    escalations,
    notice,
    beat,
    registers: (agentId: string): void => void world.agents.register({ agentId }, readClock()),
    /** Also what others would have saved. */
    happened: (event: RouseEvent & { payload: { agentId: string } }): void =>
      world.engine.saveEvents([event], readClock().time, event.payload.agentId),
    heldBy: (agentId: string, hold: Partial<HolderInfo> = {}): AgentRecord => world.holds({ ...hold, agentId }).record,
    /** Time passes; they beat every minute, always the same. */
    passesFor(agents: string | readonly string[], duration: number, said: Partial<Heartbeat> = {}): void {
      for (let passed = 0; passed < duration; passed += minutes(1)) {
        world.pass(minutes(1));
        for (const agentId of [agents].flat()) beat(agentId, said);
      }
    },
    keepsCheckpoint: (kept: Checkpoint): void => {
      checkpoint = kept;
    },
    record: (agentId: string): AgentRecord => world.mustWatch(agentId).record,
    becomes: (record: AgentRecord): void => {
      world.mustWatch(record.agentId).record = record;
    },
    saved: world.saved,
    /** What is on disk, as they are saved: `saved` waits for it. */
    events: world.events,
    actions: world.actions,
    /** In one line each: who did what to whom, and why. */
    trail: async (): Promise<string[]> =>
      (await store.readAudit({ limit: 1000 })).map(({ actor, action, subject, reason }) =>
        [actor, action, subject, reason].join(" "),
      ),
    /** Who gave orders of a kind, and whom they said they are. */
    namesGiven: async (action: string): Promise<string[]> =>
      (await store.readAudit({ limit: 1000 }))
        .filter((line) => line.action === action)
        .map(({ actor, evidence }) => `${actor} as ${evidence["as"]}`),
    now: (): EpochMs => readClock().time,
  };
}

export type EscalationDesk = Awaited<ReturnType<typeof escalationDesk>>;
