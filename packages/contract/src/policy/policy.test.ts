import { describe, expect, it } from "vitest";
import { days, hours, minutes, seconds } from "../time.ts";
import { policyFrom, retentionFrom, selfCheckFrom } from "./policy.ts";
import { overlay, presetNames, settingsOf } from "./presets.ts";
import { Settings, settingsWithoutEffect } from "./settings.ts";

describe("presets", () => {
  it.each(presetNames)("%s is complete and valid", (name) => {
    expect(Settings.safeParse(settingsOf(name)).error).toBeUndefined();
  });

  it("default: beats every 5 min, stale after 10 and 30 min, no tool call for 15", () => {
    expect(policyFrom("default", settingsOf("default"))).toMatchObject({
      mode: "act",
      beatInterval: minutes(5),
      degradedAfterSilence: null,
      startupGrace: minutes(10),
      staleDegraded: minutes(10),
      staleStuck: minutes(30),
      noToolCall: minutes(15),
      zeroTokens: minutes(15),
      errorRate: 0.25,
      consecutiveFailures: 3,
      openTool: minutes(10),
      openToolMargin: minutes(1),
    });
  });

  it("fleet: 5 s at work, 10 s idle", () => {
    expect(policyFrom("fleet", settingsOf("fleet"))).toMatchObject({
      beatInterval: seconds(5),
      idleBeatInterval: seconds(10),
    });
  });

  it("terminals: idle after 15 min, 10 min to complete, 5 equal errors in 10 min, nobody stopped for those", () => {
    for (const name of presetNames) {
      const { terminal, stopGrace } = policyFrom(name, settingsOf(name));
      expect(terminal).toEqual({
        idle: minutes(15),
        completion: minutes(10),
        rateLimitBackoff: minutes(1),
        repeatedErrors: 5,
        repeatedErrorWindow: minutes(10),
        stopOnRepeatedError: false,
        stopOnIdle: false,
        maxTextWait: hours(6),
        endLeftovers: false,
      });
      expect(stopGrace).toBe(seconds(10));
    }
  });

  it("restarts: one minute apart, three in an hour", () => {
    const { restart } = policyFrom("default", settingsOf("default"));
    expect(restart).toEqual({ cooldown: minutes(1), max: 3, window: hours(1) });
  });

  it("mass silence is 3 agents, 30 %, one minute in all of them", () => {
    for (const name of presetNames) {
      expect(selfCheckFrom(settingsOf(name))).toEqual({
        stall: seconds(2),
        massSilenceAgents: 3,
        massSilenceShare: 0.3,
        massSilenceWindow: minutes(1),
      });
    }
  });

  it("single beats are kept a day, history thirty", () => {
    expect(retentionFrom(settingsOf("default"))).toEqual({ beats: hours(24), history: days(30) });
  });

  it("what has no effect yet is named by a setting that exists", () => {
    for (const path of settingsWithoutEffect) {
      const found = path
        .split(".")
        .reduce<unknown>((under, key) => (under as Record<string, unknown>)[key], settingsOf("default"));
      expect(found, path).toBeDefined();
    }
  });
});

describe("a policy", () => {
  it("takes the timeout and the degraded threshold where they are set", () => {
    const set = overlay(settingsOf("default"), {
      heartbeat: { timeout_seconds: 400 },
      health_check: { checkpoint_degraded_threshold_seconds: 120 },
    });
    expect(policyFrom("x", set)).toMatchObject({
      degradedAfterSilence: seconds(400),
      staleDegraded: minutes(2),
      staleStuck: minutes(30),
    });
  });

  it("cannot be changed once it is read", () => {
    const policy = policyFrom("x", settingsOf("default"));
    expect(Object.isFrozen(policy)).toBe(true);
    expect(Object.isFrozen(policy.longestWait)).toBe(true);
    expect(Object.isFrozen(policy.terminal)).toBe(true);
    expect(Object.isFrozen(policy.restart)).toBe(true);
  });
});

describe("laying settings over others", () => {
  it("objects merge, everything else replaces, and what was there stays as it was", () => {
    const base = { a: { x: 1, y: 2 }, list: [1, 2], z: 1 };
    expect(overlay(base, { a: { y: 3 }, list: [9] })).toEqual({ a: { x: 1, y: 3 }, list: [9], z: 1 });
    expect(overlay(base, { a: undefined, z: undefined })).toEqual(base);
    expect(base).toEqual({ a: { x: 1, y: 2 }, list: [1, 2], z: 1 });
  });

  it("no key reaches a prototype", () => {
    const laid = overlay({ a: 1 }, JSON.parse('{"__proto__":{"polluted":true}}'));
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect((laid as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});
