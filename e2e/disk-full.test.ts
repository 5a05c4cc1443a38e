import type { HeartbeatAck, KeptHeartbeat, Problem } from "@rouse/contract";
import { afterEach, describe, expect, it } from "vitest";
import { agentOnce, isHeld } from "./agent-once.ts";
import { startBeating } from "./beating-agent.ts";
import { cleanUp } from "./clean-up.ts";
import { endAgentsAfterwards } from "./end-agents.ts";
import { canMount, type Disk, mountDisk } from "./mount-disk.ts";
import { runRouse } from "./run-rouse.ts";
import { type Answered, sendBeat, sendRequest } from "./send-request.ts";
import { type Daemon, quickBeats, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

const mayMount = await canMount();
if (!mayMount)
  console.error("e2e: A SMALL DISK CANNOT BE MOUNTED HERE (not root?): the tests of full disks are SKIPPED.");

function newDisk(): Disk {
  const disk = mountDisk();
  if (disk === null) throw new Error("a disk could be mounted a moment ago");
  return disk;
}

describe.skipIf(!mayMount)("a full disk", () => {
  it("makes beats wait, not be lost: they are refused, retried, and nobody's health suffers", async () => {
    const disk = newDisk();
    const daemon = await startDaemon({ home: disk.folder, config: quickBeats });
    const beater = startBeating(daemon, "beater");
    await until("the agent is known", () => beater.answers.length > 0);
    const ledger = new Ledger(daemon, "worker");
    await ledger.beat();

    disk.fill();
    const refused = await until("a beat is refused", async () => {
      const answer = await ledger.beat();
      return answer.status !== 200 && answer;
    });
    expect(refused.status).toBe(503);
    expect(refused.headers["retry-after"]).toBe("1");
    const problem = refused.json as Problem;
    expect(problem).toMatchObject({ code: "store-unavailable", retryable: true });
    expect(problem.detail).toMatch(/cannot save to .*rouse\.db for now: .*full/);
    expect((await sendRequest(daemon, { path: "/readyz" })).status).toBe(503);
    expect((await sendRequest(daemon, { path: "/livez", headers: { authorization: null } })).status).toBe(200);
    expect((await daemon.rouse.status()).status).toBe("store-unavailable");
    // Three beats a second apart are a TTL: longer than that, the agent goes on beating in vain.
    const before = beater.answers.length;
    await until("it was refused for more than a TTL", () => beater.answers.length > before + 12);
    expect(new Set(beater.answers.slice(before).map(({ status }) => status))).toEqual(new Set([503]));

    disk.makeRoom();
    await until(
      "the daemon is ready again",
      async () => (await sendRequest(daemon, { path: "/readyz" })).status === 200,
    );
    expect((await ledger.repeatLast()).status).toBe(200);
    for (let i = 0; i < 10; i++) expect((await ledger.beat()).status).toBe(200);
    await until("the other is accepted again", () => beater.answers.at(-1)?.status === 200);

    const gaps = await daemon.events("MONITOR_GAP");
    expect(gaps.map(({ payload }) => payload)).toEqual([
      expect.objectContaining({ cause: "store-outage", detail: "the store could not be written" }),
    ]);
    expect(await daemon.events("HEALTH_STATE_CHANGED", "HEARTBEATS_LOST")).toEqual([]);
    expect(daemon.process.stderr()).toContain("the store cannot be written");
    await expectAllKept(daemon, ledger);
    await daemon.end("SIGKILL");
    await expectAllKept(await startDaemon({ home: disk.folder }), ledger);
  });

  it("is said wherever what is shown is old, and terminate says how to end an agent all the same", async () => {
    const disk = newDisk();
    const daemon = await startDaemon({ home: disk.folder });
    endAgentsAfterwards(disk.folder);
    expect(await daemon.cli("spawn", "--name", "worker", "--", "sleep", "1000")).toMatchObject({ code: 0 });
    const { terminal } = await agentOnce(daemon, "worker", "is held", isHeld);
    expect((await daemon.cli("ps")).stdout).not.toContain("CANNOT SAVE");
    disk.fill();
    await until("nothing can be saved", async () => (await daemon.rouse.status()).status === "store-unavailable");
    const old = /^CANNOT SAVE for \S.*: this is as of then; `rouse doctor` says why\n/;
    expect((await daemon.cli("ps")).stdout).toMatch(old);
    expect((await daemon.cli("health", "worker")).stdout).toMatch(old);
    const since = { storeDownSince: expect.stringMatching(/^\d{4}-/) };
    expect(JSON.parse((await daemon.cli("ps", "--json")).stdout).monitor).toMatchObject(since);
    expect(JSON.parse((await daemon.cli("health", "worker", "--json")).stdout)).toMatchObject(since);
    const { code, stderr } = await daemon.cli("terminate", "worker");
    expect(code).toBe(6);
    expect(stderr).toContain(`Make room and say it again; or end it yourself: \`kill ${terminal?.pid}\``);
    disk.makeRoom();
    await until("it can save again", async () => (await daemon.rouse.status()).status !== "store-unavailable");
    expect((await daemon.cli("ps")).stdout).not.toContain("CANNOT SAVE");
    expect((await daemon.cli("terminate", "worker")).stdout).toContain("worker ended");
  });

  it("does not keep the daemon from stopping, and what it acknowledged is there when it is back", async () => {
    const disk = newDisk();
    const daemon = await startDaemon({ home: disk.folder });
    const ledger = new Ledger(daemon, "worker");
    for (let i = 0; i < 5; i++) await ledger.beat();
    disk.fill();
    await until("a beat is refused", async () => (await ledger.beat()).status === 503);
    expect(await daemon.end("SIGTERM")).toMatchObject({ code: 0, signal: null });
    disk.makeRoom();
    await expectAllKept(await startDaemon({ home: disk.folder }), ledger);
  });

  it.each(["SIGTERM", "SIGKILL"] as const)(
    "is told in one sentence to whoever starts it again after %s",
    async (signal) => {
      const disk = newDisk();
      await (await startDaemon({ home: disk.folder })).end(signal);
      disk.fill();
      const { code, stderr } = await runRouse(["up", "--port", "0"], { home: disk.folder });
      expect(code).toBe(6);
      expect(stderr.trimEnd().split("\n").at(-1)).toMatch(/^rouse: .*(full|ENOSPC)/);
      disk.makeRoom();
      expect((await startDaemon({ home: disk.folder })).url).toMatch(/^http:/);
    },
  );
});

describe.skipIf(!mayMount)("a disk that may only be read", () => {
  it("is told in one sentence at the start", async () => {
    const disk = newDisk();
    await (await startDaemon({ home: disk.folder })).end("SIGTERM");
    disk.becomeReadOnly();
    const { code, stderr } = await runRouse(["up", "--port", "0"], { home: disk.folder });
    expect({ code, stderr }).toEqual({ code: 6, stderr: expect.stringMatching(/^rouse: .*(read-?only|EROFS).*\n$/i) });
  });
});

/** An agent that knows which of its beats were acknowledged. */
class Ledger {
  readonly agentId: string;
  readonly acknowledged: number[] = [];
  readonly #daemon: Daemon;
  #last = 0;

  constructor(daemon: Daemon, agentId: string) {
    this.#daemon = daemon;
    this.agentId = agentId;
  }

  beat(): Promise<Answered> {
    this.#last += 1;
    return this.repeatLast();
  }

  async repeatLast(): Promise<Answered> {
    const sequenceNumber = this.#last;
    const answer = await sendBeat(this.#daemon, { agentId: this.agentId, sequenceNumber, phase: "x".repeat(200) });
    if (answer.status === 200 && (answer.json as HeartbeatAck).status !== "rejected")
      this.acknowledged.push(sequenceNumber);
    return answer;
  }
}

async function expectAllKept(daemon: Daemon, { agentId, acknowledged }: Ledger): Promise<void> {
  const { json } = await sendRequest(daemon, { path: `/api/v1/agents/${agentId}/heartbeats?limit=1000` });
  const kept = (json as { heartbeats: KeptHeartbeat[] }).heartbeats.map(({ sequenceNumber }) => sequenceNumber);
  expect(acknowledged.filter((number) => !kept.includes(number))).toEqual([]);
  expect(new Set(kept).size).toBe(kept.length);
}
