import type { SavedEvent } from "@rouse/contract";
import type { StreamedEvent } from "@rouse/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { afterwards, cleanUp } from "./clean-up.ts";
import { openStream } from "./read-stream.ts";
import { sendBeat, sendRequest } from "./send-request.ts";
import { type Daemon, shareDaemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

const shared = shareDaemon();
afterEach(cleanUp);

const isOf =
  (agentId: string) =>
  (event: SavedEvent): boolean =>
    (event.payload as { agentId?: string }).agentId === agentId;

const register = (daemon: Daemon, agentId: string) => daemon.rouse.registerAgent({ agentId });

describe("the stream of events", () => {
  it("tells what happens from now on, as it happens, and not what was before", async () => {
    const daemon = shared();
    await register(daemon, "early");
    const stream = await openStream(daemon);
    expect(stream.response.headers["content-type"]).toBe("text/event-stream");
    await register(daemon, "late");
    const event = await stream.untilEvent("the new agent is in the stream", isOf("late"));
    expect(event.type).toBe("AGENT_REGISTERED");
    expect(stream.events.some((one) => isOf("early")(one as SavedEvent))).toBe(false);
  });

  it("is begun only for whoever asks for a stream: all others get a page", async () => {
    for (const accept of ["*/*", "application/json", "application/xml"]) {
      const { status, json } = await sendRequest(shared(), { path: "/api/v1/events?limit=1", headers: { accept } });
      expect({ status, count: (json as { events: unknown[] }).events.length }).toEqual({ status: 200, count: 1 });
    }
  });

  it("has a head that can be asked for alone", async () => {
    const headers = { accept: "text/event-stream" };
    const { status, headers: told } = await sendRequest(shared(), { method: "HEAD", path: "/api/v1/events", headers });
    expect({ status, type: told["content-type"] }).toEqual({ status: 200, type: "text/event-stream" });
  });

  it("goes on after the last one seen, across a restart, with nothing missing and nothing twice", async () => {
    let daemon = await startDaemon();
    const before = await openStream(daemon, { query: "after=0" });
    await register(daemon, "seen");
    const lastSeen = await before.untilEvent("the first agent is in the stream", isOf("seen"));
    before.close();
    await register(daemon, "missed-while-away");
    await daemon.end("SIGKILL");
    daemon = await startDaemon({ home: daemon.home });

    const after = await openStream(daemon, { lastEventId: lastSeen.id });
    await register(daemon, "afterwards");
    await after.untilEvent("the newest agent is in the stream", isOf("afterwards"));
    const told = [...before.events.filter(({ id }) => (id ?? 0) <= lastSeen.id), ...after.events];
    expect(told).toEqual(await daemon.events());
    expect(told.map(({ type }) => type)).toEqual(expect.arrayContaining(["MONITOR_STARTED", "MONITOR_GAP"]));
  });

  it("is taken up by the library again when the daemon comes back at the same place", async () => {
    const first = await startDaemon();
    const { port } = new URL(first.url);
    const stop = new AbortController();
    afterwards(() => stop.abort());
    const told: StreamedEvent[] = [];
    const interruptions: string[] = [];
    const following = (async () => {
      const stream = first.rouse.streamEvents({
        after: 0,
        signal: stop.signal,
        onInterrupted: ({ code }) => interruptions.push(code),
      });
      for await (const event of stream) told.push(event);
    })();
    await register(first, "before");
    await until("the first is told", () => told.some((event) => isOf("before")(event as SavedEvent)));
    await first.end("SIGTERM");
    const second = await startDaemon({ home: first.home, args: ["--port", port] });
    await register(second, "after");
    await until("the second is told", () => told.some((event) => isOf("after")(event as SavedEvent)));
    stop.abort();
    await following;
    expect(interruptions.length).toBeGreaterThan(0);
    expect(told).toEqual((await second.events()).slice(0, told.length));
  });

  it("tells only what was asked for: one agent, or some types", async () => {
    const daemon = shared();
    const ofOne = await openStream(daemon, { query: "agent=chosen" });
    const ofOneType = await openStream(daemon, { query: "types=MONITOR_FROZEN,MONITOR_THAWED" });
    await register(daemon, "other");
    await register(daemon, "chosen");
    await daemon.rouse.freeze({ reason: "a test" });
    await register(daemon, "other-2");
    await daemon.rouse.thaw();
    await ofOneType.untilEvent("the thaw is told", ({ type }) => type === "MONITOR_THAWED");
    await ofOne.untilEvent("the chosen one is told", isOf("chosen"));
    expect(ofOne.events.every((event) => isOf("chosen")(event as SavedEvent))).toBe(true);
    expect(ofOneType.events.map(({ type }) => type)).toEqual(["MONITOR_FROZEN", "MONITOR_THAWED"]);
  });

  it("passes on heartbeats only to those who ask for them by name", async () => {
    const daemon = shared();
    const everything = await openStream(daemon);
    const beats = await openStream(daemon, { query: "types=AGENT_HEARTBEAT&agent=worker" });
    for (const sequenceNumber of [1, 2, 3]) {
      await daemon.rouse.recordHeartbeat({ agentId: "worker", sequenceNumber });
      await daemon.rouse.recordHeartbeat({ agentId: "other", sequenceNumber });
    }
    await until("three beats are told", () => beats.events.length === 3);
    expect(beats.events.map(({ id, payload }) => [id, payload])).toEqual(
      [1, 2, 3].map((sequenceNumber) => [undefined, { agentId: "worker", sequenceNumber }]),
    );
    await register(daemon, "marker");
    await everything.untilEvent("the stream without a filter is up to date", isOf("marker"));
    expect(everything.events.filter(({ type }) => type === "AGENT_HEARTBEAT")).toEqual([]);
  });

  it("stalls nobody when somebody does not read it: he is cut off", async () => {
    const daemon = shared();
    const sleeper = await openStream(daemon, { query: "types=AGENT_HEARTBEAT", read: false });
    const awake = await openStream(daemon, { query: "types=AGENT_HEARTBEAT" });
    const batch = Array.from({ length: 1000 }, (_, i) => ({ agentId: `w-${i}`, progressIndicator: "x".repeat(1000) }));
    // 24 MB: more than the operating system keeps for him and the daemon is willing to keep.
    for (let round = 1; round <= 20; round++) {
      expect((await sendBeat(daemon, batch)).status).toBe(200);
      expect((await sendRequest(daemon, { path: "/readyz" })).status).toBe(200);
    }
    await until("the one who reads has all of it", () => awake.events.length === 20_000);
    sleeper.response.resume();
    await until("the one who did not was cut off", () => sleeper.hasEnded());
    expect(sleeper.response.complete).toBe(false);
    expect(awake.hasEnded()).toBe(false);
  });
});
