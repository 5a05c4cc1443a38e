import { minutes, TaskRequest } from "@rouse/contract";
import { newTask, type TaskRecord } from "@rouse/core";
import { expect, it } from "vitest";
import { createRoster } from "../agents/roster.ts";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { describeTaskHealth, type TaskView } from "./describe-task.ts";
import { chooseTaskRules } from "./kept-task.ts";

const task = (taskId: string, over: Partial<TaskRecord> = {}): TaskRecord => ({
  ...newTask(TaskRequest.parse({ taskId }), 0),
  ...over,
});

const config = requireConfig(readConfig({ file: { name: "test", text: "preset: default" } }));
const rulesFor = chooseTaskRules({ roster: createRoster(), config: () => config });

it("the health of very many tasks describes only those it lists, the ones something is the matter with among them", () => {
  const described: string[] = [];
  const view: TaskView = {
    now: 0 + minutes(1),
    toWall: (at) => 0 + at,
    doubt: { gaps: [], frozen: false },
    rulesFor,
    statusSince: () => 0,
    isCompleted: () => false,
    statusOf: () => null,
    dependentsOf: (taskId) => {
      described.push(taskId);
      return [];
    },
  };
  const waiting = Array.from({ length: 3000 }, (_, n) => task(`t${n}`));
  const late = task("late", { because: "timed-out" });
  const blocked = task("blocked", { state: { status: "blocked", since: 0, claim: null } });
  const over = task("over", { state: { status: "cancelled", overAt: 0 } });
  const health = describeTaskHealth([...waiting, late, over, blocked], view);
  expect(health).toMatchObject({ total_tasks: 3003, active_tasks: 3002, blocked_tasks: 1 });
  expect(health.tasks.slice(0, 4).map(({ taskId }) => taskId)).toEqual(["blocked", "late", "t0", "t1"]);
  expect(health.tasks).toHaveLength(1000);
  expect(described).toHaveLength(1000);
});
