import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checksumOf, readBeat } from "./hear-beats.ts";

const noon = Date.UTC(2026, 1, 5, 12);

function accepted(sent: unknown, time = noon) {
  const signal = readBeat(sent, time);
  if ("refused" in signal) throw new Error(signal.problem);
  return signal;
}

function refused(sent: unknown) {
  const signal = readBeat(sent, noon);
  if (!("refused" in signal)) throw new Error("it was accepted");
  return signal;
}

describe("a heartbeat", () => {
  it("needs nothing but a name", () => {
    expect(accepted({ agentId: "worker-1" })).toEqual({
      kind: "heartbeat",
      beat: { agentId: "worker-1" },
      checksum: "absent",
      agentTime: null,
      skew: null,
      waitsFor: null,
    });
  });

  it("may come under the names that Python agents use", () => {
    const sent = {
      agent_id: "worker-1",
      timestamp: "2026-02-05T12:00:00Z",
      sequence_number: 7,
      status: "RUNNING",
      current_task_id: "t-1",
      health_metrics: { error_rate: 0.1, consecutive_failures: 0 },
    };
    expect(accepted({ ...sent, checksum: checksumOf(sent) })).toMatchObject({
      checksum: "right",
      beat: { agentId: "worker-1", sequenceNumber: 7, taskId: "t-1", healthMetrics: { error_rate: 0.1 } },
    });
    expect(accepted({ agent_id: "w", current_task_id: null }).beat.taskId).toBeNull();
  });

  it("may carry fields nobody knows", () => {
    expect(accepted({ agentId: "w", mood: { deep: [1, 2] }, extra: null }).beat).toEqual({ agentId: "w" });
  });
});

describe("a checksum", () => {
  const sent = { agentId: "w", sequenceNumber: 3, unknown: { b: 1, a: [1.5, "ü"] }, tokenCount: 10 };

  it("covers the object as it was sent, unknown fields included, in whatever order", () => {
    const sum = createHash("sha256")
      .update('{"agentId":"w","sequenceNumber":3,"tokenCount":10,"unknown":{"a":[1.5,"ü"],"b":1}}')
      .digest("hex");
    expect(checksumOf(sent)).toBe(sum);
    expect(accepted({ ...sent, checksum: sum }).checksum).toBe("right");
    expect(accepted({ checksum: sum.toUpperCase(), ...sent }).checksum).toBe("right");
  });

  it("is wrong when anything differs", () => {
    const checksum = checksumOf(sent);
    expect(accepted({ ...sent, tokenCount: 11, checksum }).checksum).toBe("wrong");
    expect(accepted({ ...sent, unknown: {}, checksum }).checksum).toBe("wrong");
    expect(accepted({ ...sent, late: true, checksum }).checksum).toBe("wrong");
    expect(accepted({ ...sent, checksum: "" }).checksum).toBe("wrong");
  });

  it("is right for whatever an agent may send", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue()), (extra) => {
        const message = JSON.parse(JSON.stringify({ ...extra, agentId: "w" }));
        delete message.checksum;
        const signal = readBeat({ ...message, checksum: checksumOf(message) }, noon);
        if (!("refused" in signal)) expect(signal.checksum).toBe("right");
      }),
    );
  });
});

describe("a beat that is not one", () => {
  it.each([null, 7, "beat", true, [], [{ agentId: "w" }], undefined])("%j is refused", (sent) => {
    expect(refused(sent)).toEqual({
      refused: true,
      agentId: "",
      sequenceNumber: null,
      problem: "a heartbeat is a JSON object",
    });
  });

  it("is refused with every problem at once, each with its place", () => {
    const { problem, agentId, sequenceNumber } = refused({
      agentId: "worker-1",
      sequenceNumber: -1,
      status: "SLEEPY",
      tokenCount: "many",
      timestamp: "yesterday",
      open: { kind: "door" },
    });
    for (const place of ["sequenceNumber", "status", "tokenCount", "timestamp", "open.kind"])
      expect(problem).toContain(`${place}:`);
    expect({ agentId, sequenceNumber }).toEqual({ agentId: "worker-1", sequenceNumber: -1 });
  });

  it.each(["", "-x", "a b", "a/b", "../etc", "a\u0000", "x".repeat(129), 7, null])(
    "a name like %j is refused",
    (agentId) => {
      expect(refused({ agentId }).problem).toContain("agentId");
    },
  );

  it("has its own words shown without control characters", () => {
    const { agentId, problem } = refused({ agentId: "\u001b[31mred\u0007", healthMetrics: { "\u001b[2J": {} } });
    for (const text of [agentId, problem]) expect(text).not.toContain("\u001b");
  });

  it("never throws, whatever is sent", () => {
    fc.assert(fc.property(fc.anything(), (sent) => void readBeat(sent, noon)));
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (sent) => void readBeat({ agentId: "w", ...sent }, noon)),
    );
  });
});

describe("an agent's clock", () => {
  it("may be years off: the beat counts, and by how much is noted", () => {
    const signal = accepted({ agentId: "w", timestamp: "1999-12-31T23:59:59Z" });
    expect(signal.agentTime).toBe(Date.UTC(1999, 11, 31, 23, 59, 59));
    expect(signal.skew).toBe(Date.UTC(1999, 11, 31, 23, 59, 59) - noon);
    expect(accepted({ agentId: "w", timestamp: "2126-02-05T12:00:00+02:00" }).skew).toBeGreaterThan(0);
  });

  it("is what the end of a wait is measured by, so its skew cancels out", () => {
    const sent = {
      agentId: "w",
      status: "WAITING",
      timestamp: "2031-01-01T00:00:00Z",
      waitingUntil: "2031-01-01T00:10:00Z",
    };
    expect(accepted(sent).waitsFor).toBe(600_000);
  });

  it("gives way to ours when it sent no time", () => {
    expect(accepted({ agentId: "w", waitingFor: "provider", waitingUntil: "2026-02-05T12:05:00Z" }).waitsFor).toBe(
      300_000,
    );
  });

  it("a wait that should be over by now is over since then, not from now", () => {
    const waiting = { agentId: "w", waitingFor: "provider", waitingUntil: "2026-02-05T12:00:00Z" };
    expect(accepted({ ...waiting, timestamp: "2026-02-05T12:20:00Z" }).waitsFor).toBe(-1_200_000);
  });
});

describe("keys that mean something to the language", () => {
  const hostile = (text: string) => JSON.parse(text) as unknown;

  it("are harmless in a beat", () => {
    const { beat } = accepted(
      hostile('{"agentId":"w","__proto__":{"tokenCount":5},"constructor":{"prototype":{"x":1}}}'),
    );
    expect(beat).toEqual({ agentId: "w" });
    expect(beat.tokenCount).toBeUndefined();
    const { beat: snake } = accepted(hostile('{"agent_id":"w","__proto__":{"agentId":"root"},"toString":1}'));
    expect(snake).toEqual({ agentId: "w" });
    expect(({} as Record<string, unknown>)["tokenCount"]).toBeUndefined();
  });

  it("do not stand in for the name", () => {
    expect(refused(hostile('{"__proto__":{"agentId":"w"}}')).agentId).toBe("");
  });

  it("are harmless among the metrics", () => {
    const { beat } = accepted(
      hostile('{"agentId":"w","healthMetrics":{"__proto__":1,"constructor":2,"errorRate":0.5}}'),
    );
    expect(beat.healthMetrics?.["errorRate"]).toBe(0.5);
    expect(Object.getPrototypeOf(beat.healthMetrics ?? {})).toBe(Object.prototype);
  });

  it("count for the checksum like any other", () => {
    const sent = hostile('{"agentId":"w","__proto__":{"a":1}}') as Record<string, unknown>;
    const other = hostile('{"agentId":"w","__proto__":{"a":2}}') as Record<string, unknown>;
    expect(checksumOf(sent)).not.toBe(checksumOf(other));
  });
});
