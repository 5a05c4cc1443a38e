import type { RequestListener, ServerResponse } from "node:http";
import { Fault } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { listen, readBody } from "./fake-api.test-support.ts";
import { readRecovery } from "./read-recovery.ts";
import { connectCheckpoints } from "./save-checkpoints.ts";

const connect = async (listener: RequestListener) => connectCheckpoints(await listen(listener));

describe("checkpoints", () => {
  it("are saved, listed, shown and verified under the name of their task", async () => {
    const asked: unknown[] = [];
    const id = "a".repeat(64);
    const rouse = await connect(async (request, response) => {
      asked.push([request.method, request.url, await readBody(request)]);
      const body = request.url?.includes("checkpoints?") ? { taskId: "a:b", checkpoints: [{ id }] } : { id };
      response.end(JSON.stringify(body));
    });
    expect(await rouse.saveCheckpoint("a:b", { step: 1, state: { at: 3 }, parent: null })).toEqual({ id });
    expect(await rouse.checkpoints("a:b", { limit: 5 })).toEqual([{ id }]);
    expect(await rouse.checkpoint(id)).toEqual({ id });
    expect(await rouse.verifyCheckpoints("a:b")).toEqual({ id });
    expect(asked).toEqual([
      ["POST", "/api/v1/tasks/a%3Ab/checkpoints", { step: 1, state: { at: 3 }, parent: null }],
      ["GET", "/api/v1/tasks/a%3Ab/checkpoints?limit=5", null],
      ["GET", `/api/v1/checkpoints/${id}`, null],
      ["GET", "/api/v1/tasks/a%3Ab/checkpoints/verify", null],
    ]);
  });

  it("with the working tree may take longer than other calls: a snapshot is taken first", async () => {
    let arrives: (waiting: ServerResponse) => void = () => undefined;
    const arrived = new Promise<ServerResponse>((resolve) => {
      arrives = resolve;
    });
    const line = await listen(async (request, response) => {
      const { workspace } = (await readBody(request)) as { workspace?: boolean };
      if (workspace === true) arrives(response);
    });
    const rouse = connectCheckpoints({ ...line, timeout: 100 });
    const withTree = rouse.saveCheckpoint("t", { step: 1, workspace: true });
    const without = await rouse.saveCheckpoint("t", { step: 1 }).catch((error: unknown) => error);
    expect(without).toMatchObject({ code: "daemon-unreachable", message: expect.stringMatching(/within 0.1 s/) });
    (await arrived).end("{}");
    expect(await withTree).toEqual({});
  });

  it("of what cannot be a name are not asked for", async () => {
    const rouse = await connect((_, response) => response.end("{}"));
    const codeOf = (call: Promise<unknown>) => call.catch((error: unknown) => (error as Fault).code);
    expect(await codeOf(rouse.saveCheckpoint("..", { step: 1 }))).toBe("task-unknown");
    expect(await codeOf(rouse.checkpoints("a/b"))).toBe("task-unknown");
    expect(await codeOf(rouse.checkpoint("../agents"))).toBe("checkpoint-unknown");
  });

  it("that are refused say why", async () => {
    const rouse = await connect((_, response) => {
      const problem = { code: "checkpoint-refused", detail: "the chain would have a hole", retryable: false };
      response.writeHead(409).end(JSON.stringify(problem));
    });
    const fault = await rouse.saveCheckpoint("t", { step: 1 }).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(Fault);
    expect(fault).toMatchObject({ code: "checkpoint-refused", message: "the chain would have a hole" });
  });
});

describe("an agent that was brought back", () => {
  const told = {
    checkpoint: "a".repeat(64),
    step: 4,
    stepName: "test",
    reason: "it was stuck",
    lost: { checkpoints: 1, steps: 2, flaws: ["state-missing"], startsOver: false },
    attempt: 2,
  };
  const rest = { taskId: "fix-42", stateFile: "/home/ada/.rouse/recovery/x.json", workspace: null };

  it("reads where to go on out of its environment", () => {
    expect(readRecovery({ ROUSE_RECOVERY: JSON.stringify({ ...told, ...rest }) })).toEqual({ ...told, ...rest });
  });

  it("does not mind what a newer Rouse says, or an older one leaves out", () => {
    const text = JSON.stringify({ ...told, mood: "good", lost: { ...told.lost, more: 1 } });
    expect(readRecovery({ ROUSE_RECOVERY: text })).toEqual({
      ...told,
      taskId: null,
      stateFile: null,
      workspace: null,
    });
  });

  it("is told from one that was not, and from one that was told nonsense", () => {
    expect(readRecovery({})).toBeNull();
    for (const text of ["", "{", "null", "[]", "7", '{"step":"four"}'])
      expect(readRecovery({ ROUSE_RECOVERY: text }), text).toBeNull();
  });
});
