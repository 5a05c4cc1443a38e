import { minutes, seconds, selfCheckFrom, settingsOf } from "@rouse/contract";
import { newRecord, watchFleet } from "@rouse/core";
import { describe, expect, it } from "vitest";
import { canaryMissing, doubtSelf } from "./self-doubt.ts";

const noIncidents = { silentWith: () => null, diedWith: () => null, mayDieWithOthers: () => false };

const dawn = 1_700_000_000_000;
const policy = selfCheckFrom(settingsOf("fleet"));
const release = seconds(32);

function doubter() {
  const fleet = watchFleet(() => policy);
  const doubt = doubtSelf(fleet, noIncidents, () => null, dawn);
  const agent = newRecord(
    { agentId: "a", agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 },
    dawn,
  );
  return { doubt, fleet, about: (now: number) => doubt.about(agent, now) };
}

describe("gaps", () => {
  it("are numbered upwards, across restarts too: the number is the time", () => {
    const { doubt } = doubter();
    const first = doubt.openGap("stall", dawn, dawn + 3000);
    expect(first.id).toBe(dawn + 3000);
    const second = doubt.openGap("suspend", dawn, dawn + 3000);
    const third = doubt.openGap("clock-step", dawn + 3000, dawn + 3000);
    expect([second.id, third.id]).toEqual([first.id + 1, first.id + 2]);
    expect(
      doubtSelf(
        watchFleet(() => policy),
        noIncidents,
        () => null,
        dawn + 9000,
      ).openGap("restart", dawn + 4000, dawn + 9000).id,
    ).toBeGreaterThan(third.id);
  });

  it("are told to everyone who is looked at, oldest first, the newest 64 of them", () => {
    const { doubt, about } = doubter();
    for (let i = 1; i <= 100; i++) doubt.openGap("stall", dawn + i * 1000, dawn + i * 1000 + 500);
    const { gaps } = about(dawn + 200_000);
    expect(gaps).toHaveLength(64);
    expect(gaps.at(-1)?.to).toBe(dawn + 100_500);
    expect(gaps[0]?.to).toBe(dawn + 37_500);
  });
});

describe("lag", () => {
  it("is the worst lateness of the last minute, fading", () => {
    const { doubt, about } = doubter();
    doubt.noteLateness(1000, dawn, policy);
    expect(about(dawn).lag).toBe(1000);
    doubt.noteLateness(200, dawn + 100, policy);
    expect(about(dawn + seconds(30)).lag).toBe(500);
    expect(about(dawn + seconds(60)).lag).toBe(0);
    expect(about(dawn + seconds(90)).lag).toBe(0);
  });

  it("ignores what is ordinary, and is never more than a stall: a longer pause is a gap", () => {
    const { doubt, about } = doubter();
    doubt.noteLateness(49, dawn, policy);
    doubt.noteLateness(-500, dawn, policy);
    expect(about(dawn).lag).toBe(0);
    doubt.noteLateness(minutes(10), dawn, policy);
    expect(about(dawn).lag).toBe(policy.stall);
  });
});

describe("the canary", () => {
  it("that failed puts everyone on hold at once, until it passes again and one TTL more", () => {
    const { doubt, about } = doubter();
    doubt.canaryFailed(dawn);
    expect(about(dawn).hold).toMatchObject({ because: "path-unproven", since: dawn, provenAt: null });
    expect(doubt.endPathHold(dawn + minutes(10), release)).toBe(false); // no end without proof
    const passed = dawn + minutes(10);
    doubt.canaryPassed(passed);
    expect(about(passed).hold?.provenAt).toBe(passed);
    doubt.canaryPassed(passed + seconds(5)); // the first proof counts
    expect(doubt.endPathHold(passed + release - 1, release)).toBe(false);
    expect(doubt.endPathHold(passed + release, release)).toBe(true);
    expect(about(passed + release).hold).toBeNull();
  });

  it("that fails again after a proof needs a new one", () => {
    const { doubt, about } = doubter();
    doubt.canaryFailed(dawn);
    doubt.canaryPassed(dawn + seconds(1));
    doubt.canaryFailed(dawn + seconds(2));
    expect(about(dawn + seconds(2)).hold).toMatchObject({ since: dawn, provenAt: null });
  });

  it("is missing after 15 s without a word, but not because we ourselves were blind", () => {
    const { doubt } = doubter();
    expect(doubt.canaryIsMissing(dawn + canaryMissing)).toBe(false);
    expect(doubt.canaryIsMissing(dawn + canaryMissing + 1)).toBe(true);
    doubt.openGap("stall", dawn, dawn + minutes(1));
    expect(doubt.canaryIsMissing(dawn + minutes(1))).toBe(false);
  });

  it("outranks a mass silence: without a path nothing else is known", () => {
    const { doubt, fleet, about } = doubter();
    for (const agentId of ["x", "y", "z"]) {
      const standing = { agentId, node: null, watched: true, interval: 5000, ttl: 15_000 };
      fleet.note({ ...standing, quietSince: null }, dawn);
      fleet.note({ ...standing, quietSince: dawn }, dawn);
    }
    expect(about(dawn).hold?.because).toBe("mass-silence");
    doubt.canaryFailed(dawn + seconds(16));
    expect(about(dawn + seconds(16)).hold?.because).toBe("path-unproven");
  });
});

describe("a freeze", () => {
  it("stands until it is thawed, and everyone who is looked at knows", () => {
    const { doubt, about } = doubter();
    expect(about(dawn).frozen).toBe(false);
    doubt.freeze({ since: dawn, actor: "operator", reason: "deploying" });
    expect(about(dawn + minutes(9999)).frozen).toBe(true);
    doubt.freeze(null);
    expect(about(dawn).frozen).toBe(false);
  });

  it("keeps whoever waits for its end, also when the next one begins in the same breath", async () => {
    const { doubt } = doubter();
    const still = { since: dawn, actor: "operator", reason: "deploying" };
    let goesOn = false;
    await doubt.thawed();
    doubt.freeze(still);
    const waited = doubt.thawed().then(() => {
      goesOn = true;
    });
    doubt.freeze(null);
    doubt.freeze(still);
    for (let i = 0; i < 20; i++) await Promise.resolve();
    expect(goesOn).toBe(false);
    doubt.freeze(null);
    await waited;
  });
});
