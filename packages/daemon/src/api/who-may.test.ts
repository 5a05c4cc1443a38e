import { describe, expect, it } from "vitest";
import { leaveForeignTask } from "./who-may.ts";

const queueWorker = { kind: "agent", agentId: "w", taskId: null, incarnation: 1 } as const;
const holds = (agentId: string, taskId: string) => agentId === "w" && taskId === "mine";

describe("the task an agent names", () => {
  it("counts when it holds it, and is left out when it does not: the rest of what it says is heard", () => {
    const mine = { agentId: "w", taskId: "mine", status: "RUNNING" };
    expect(leaveForeignTask(queueWorker, mine, holds)).toBe(mine);
    expect(leaveForeignTask(queueWorker, { ...mine, taskId: "another" }, holds)).toEqual({
      agentId: "w",
      status: "RUNNING",
    });
    const none = { agentId: "w", taskId: null };
    expect(leaveForeignTask(queueWorker, none, holds)).toBe(none);
  });

  it("is left as it is for one whose token names its task: what goes beyond that is refused", () => {
    const said = { agentId: "w", taskId: "another" };
    expect(leaveForeignTask({ ...queueWorker, taskId: "mine" }, said, holds)).toBe(said);
  });
});
