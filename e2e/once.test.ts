import type { AgentList } from "@rouse/contract";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp } from "./clean-up.ts";
import { type Answered, sendRequest } from "./send-request.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";

afterEach(cleanUp);

const post = (daemon: Daemon, key: string, path: string, body: unknown): Promise<Answered> =>
  sendRequest(daemon, { path: `/api/v1/${path}`, body: JSON.stringify(body), headers: { "idempotency-key": key } });

describe("a post with an Idempotency-Key", () => {
  it("is obeyed once and answered as it was first, also by a daemon that was killed in between", async () => {
    let daemon = await startDaemon();
    const { home } = daemon;
    await daemon.rouse.recordHeartbeat({ agentId: "w", status: "RUNNING" });
    const steps = Array.from({ length: 250 }, (_, n) => ({ kind: "tool_call", tool: "Bash", args: `step ${n}` }));
    const send = async () => [
      await post(daemon, "n-1", "agents/w/nudge", { message: "go on" }),
      await post(daemon, "t-1", "tasks", { taskId: "t", title: "a task", actor: "ada" }),
      await post(daemon, "s-1", "agents/w/steps", [...steps, { kind: "nonsense" }]),
    ];
    const first = await send();
    expect(first.map(({ status }) => status)).toEqual([200, 201, 200]);
    await daemon.rouse.claimTask("t", "w");
    const again = await send();
    await daemon.end("SIGKILL");
    daemon = await startDaemon({ home });
    const after = await send();
    for (const answers of [again, after])
      expect(answers.map(({ status, json }) => ({ status, json }))).toEqual(
        first.map(({ status, json }) => ({ status, json })),
      );
    expect(first).toMatchObject([
      { json: { nudge: expect.any(String) } },
      { json: { status: "pending", claim: null } },
      { json: { accepted: 250, rejected: [{ index: 250 }] } },
    ]);
    expect(await daemon.events("NUDGE_QUEUED")).toHaveLength(1);
    expect(await daemon.events("TASK_CREATED")).toHaveLength(1);
    expect((await daemon.rouse.steps("w", { limit: 1000 })).steps).toHaveLength(250);
    const orders = (await daemon.cli("audit", "list", "--limit", "1000")).stdout.match(/order-nudge/g);
    expect(orders).toHaveLength(1);
  });

  it("is refused with another body, or with a key that is none; without one it is obeyed each time", async () => {
    const daemon = await startDaemon();
    await daemon.rouse.recordHeartbeat({ agentId: "w", status: "RUNNING" });
    await post(daemon, "k", "agents/w/steps", { kind: "message", text: "one" });
    const other = await post(daemon, "k", "agents/w/steps", { kind: "message", text: "two" });
    expect(other).toMatchObject({ status: 422, json: { code: "key-reused", status: 422 } });
    expect((await post(daemon, "k", "agents/v/steps", { kind: "message", text: "one" })).status).toBe(422);
    expect((await post(daemon, "x".repeat(256), "agents/w/nudge", {})).status).toBe(400);
    for (let time = 0; time < 2; time++) await daemon.rouse.recordSteps("w", [{ kind: "message", text: "again" }]);
    expect((await daemon.rouse.steps("w")).steps).toHaveLength(3);
    const once = { key: "by-the-library" };
    for (let time = 0; time < 2; time++) await daemon.rouse.recordSteps("w", [{ kind: "message", text: "once" }], once);
    expect((await daemon.rouse.steps("w")).steps).toHaveLength(4);
  });
});

describe("a list", () => {
  it("of agents is told page by page, narrowed by what is known of them", async () => {
    const daemon = await startDaemon();
    for (let n = 1; n <= 7; n++)
      await daemon.rouse.recordHeartbeat({
        agentId: `agent-${n}`,
        agentType: n % 2 ? "odd" : "even",
        node: n > 4 ? "node-2" : "node-1",
        taskId: `task-${n}`,
      });
    const names = ({ agents }: AgentList) => agents.map(({ agentId }) => Number(agentId.slice("agent-".length)));
    const page = async (search: string) =>
      (await sendRequest(daemon, { path: `/api/v1/agents?${search}` })).json as AgentList;
    const told: number[] = [];
    for (let cursor = ""; ; ) {
      const answer = await page(`limit=3${cursor}`);
      told.push(...names(answer));
      if (told.length === 3) await daemon.rouse.recordHeartbeat({ agentId: "agent-8" });
      if (answer.next === null) break;
      cursor = `&cursor=${answer.next}`;
    }
    expect(told).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(names(await page("type=odd&node=node-2"))).toEqual([5, 7]);
    expect(names(await page("task=task-3"))).toEqual([3]);
    expect(names(await page("q=TASK-6"))).toEqual([6]);
    expect(names(await page("state=HEALTHY&q=agent-1"))).toEqual([1]);
    expect(names(await page("state=STUCK,FAILING"))).toEqual([]);
    expect(names(await page("type=even&limit=2"))).toEqual([2, 4]);
    expect(await daemon.rouse.getAllAgentHealth({ type: "even", node: "node-1" })).toHaveLength(2);
    expect((await daemon.rouse.fleet()).agents).toHaveLength(8);
  });
});
