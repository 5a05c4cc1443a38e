import { minutes, seconds, selfCheckFrom, settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type FleetNews, type Standing, watchFleet, wholeFleet } from "./watch-fleet.ts";

const margin = seconds(2);

/** A fleet on virtual time, each agent with a TTL of 15 s unless said otherwise. */
function fleetOf(count: number, node: (i: number) => string | null = () => null, rhythm = seconds(5)) {
  const fleet = watchFleet(() => selfCheckFrom(settingsOf("fleet")));
  let now = 1_000_000;
  const news: FleetNews[] = [];
  const nodes = new Map(Array.from({ length: count }, (_, i) => [`a${i}`, node(i)]));
  const standing = (agentId: string, more: Partial<Standing>): Standing => ({
    agentId,
    node: nodes.get(agentId) ?? null,
    watched: true,
    quietSince: null,
    interval: rhythm,
    ttl: 3 * rhythm,
    ...more,
  });
  const note = (agentId: string, more: Partial<Standing> = {}): void => {
    news.push(fleet.note(standing(agentId, more), now));
  };
  for (const agentId of nodes.keys()) {
    note(agentId);
    fleet.hear(agentId, nodes.get(agentId) ?? null, now);
  }
  return {
    fleet,
    fallQuiet: (...ids: string[]) => ids.forEach((id) => void note(id, { quietSince: now })),
    stayQuietSince: (since: number, ...ids: string[]) => ids.forEach((id) => void note(id, { quietSince: since })),
    comeBack: (...ids: string[]) => ids.forEach((id) => void note(id)),
    leave: (...ids: string[]) => ids.forEach((id) => void note(id, { watched: false })),
    hear: (id: string) => fleet.hear(id, nodes.get(id) ?? null, now),
    pass: (ms: number) => {
      now += ms;
    },
    canaryPasses: () => void news.push(fleet.pathProven(now)),
    endHolds: () => void news.push(fleet.endHolds(now, margin)),
    scopes: () => fleet.holds().map(({ scope }) => scope),
    started: () =>
      news.flatMap(({ events }) =>
        events.flatMap((event) => (event.type === "VERDICTS_HELD_BACK" ? [event.payload] : [])),
      ),
    ended: () =>
      news.flatMap(({ events }) =>
        events.flatMap((event) => (event.type === "VERDICTS_RESUMED" ? [event.payload] : [])),
      ),
    woken: () => news.splice(0).flatMap(({ wake }) => wake),
    around: (id: string) => fleet.around(id, nodes.get(id) ?? null),
    get now() {
      return now;
    },
  };
}

const ids = (n: number, from = 0) => Array.from({ length: n }, (_, i) => `a${from + i}`);

describe("mass silence", () => {
  it("three agents that are 30 % of the fleet are one hold, whose members are woken to hear of it", () => {
    const world = fleetOf(10);
    world.fallQuiet("a0", "a1");
    expect(world.scopes()).toEqual([]);
    world.pass(seconds(10));
    world.fallQuiet("a2");
    expect(world.scopes()).toEqual([wholeFleet]);
    expect(world.started()).toEqual([{ because: "mass-silence", scope: "fleet", silent: 3, of: 10 }]);
    expect(world.around("a9").hold).toMatchObject({ because: "mass-silence", provenAt: null });
    expect(world.woken().toSorted()).toEqual(["a0", "a1", "a2"]);
    world.fallQuiet("a3", "a4");
    expect(world.started()).toEqual([]); // it is the same incident
  });

  it("two agents never are, even when they are all there is", () => {
    const world = fleetOf(2);
    world.fallQuiet("a0", "a1");
    expect(world.scopes()).toEqual([]);
  });

  it("three of eleven are not: less than 30 %", () => {
    const world = fleetOf(11);
    world.fallQuiet("a0", "a1", "a2");
    expect(world.scopes()).toEqual([]);
  });

  it("a node of its own is judged by itself", () => {
    const world = fleetOf(100, (i) => (i < 8 ? "east" : "west"));
    world.fallQuiet("a0", "a1", "a2");
    expect(world.scopes()).toEqual(["node east"]);
    expect(world.around("a7").hold).not.toBeNull();
    expect(world.around("a50").hold).toBeNull();
  });

  it("three that fall quiet over ten minutes are three agents, not one incident", () => {
    const world = fleetOf(5);
    for (const id of ids(3)) {
      world.fallQuiet(id);
      world.pass(minutes(3));
    }
    expect(world.scopes()).toEqual([]);
  });

  it("agents that beat every five minutes cannot fall quiet within one: their own rhythm is the window", () => {
    const world = fleetOf(5, () => null, minutes(5));
    for (const id of ids(3)) {
      world.fallQuiet(id);
      world.pass(minutes(2));
    }
    expect(world.scopes()).toEqual([wholeFleet]);
  });

  it("and the rhythm is the one they have now", () => {
    const world = fleetOf(5);
    for (const id of ids(3)) {
      world.fleet.note(
        { agentId: id, node: null, watched: true, quietSince: world.now, interval: minutes(5), ttl: minutes(15) },
        world.now,
      );
      world.pass(minutes(2));
    }
    expect(world.scopes()).toEqual([wholeFleet]);
  });

  it("those that left are not counted, neither as silent nor as fleet", () => {
    const world = fleetOf(10);
    world.fallQuiet("a0", "a1");
    world.leave("a0", ...ids(6, 4));
    expect(world.fleet.size()).toBe(3);
    world.fallQuiet("a2");
    expect(world.scopes()).toEqual([]); // two silent ones among four
    world.fallQuiet("a3");
    expect(world.scopes()).toEqual([wholeFleet]);
  });

  it("of agents on many nodes is a matter of the fleet, and of each of them", () => {
    const world = fleetOf(10, (i) => `node ${i % 5}`);
    world.fallQuiet("a0", "a1", "a2");
    expect(world.scopes()).toEqual([wholeFleet]);
    expect(world.around("a9").hold).toMatchObject({ because: "mass-silence" });
  });

  it("an agent that moves to another node counts there", () => {
    const world = fleetOf(6, (i) => (i < 3 ? "east" : "west"));
    expect(world.fleet.size()).toBe(6);
    world.fleet.note({ agentId: "a0", node: "west", watched: true, quietSince: null, interval: 1, ttl: 3 }, world.now);
    expect(world.fleet.size()).toBe(6);
    expect(world.fleet.around("a0", "west").peers).toBe(3);
  });
});

describe("a hold", () => {
  const held = () => {
    const world = fleetOf(6);
    world.fallQuiet("a0", "a1", "a2");
    world.woken();
    return world;
  };

  it("stands for as long as nothing shows that our own path works", () => {
    const world = held();
    world.pass(minutes(600));
    world.endHolds();
    expect(world.scopes()).toEqual([wholeFleet]);
  });

  it("release grace: ends one TTL and a margin after the canary got through", () => {
    const world = held();
    world.pass(seconds(30));
    world.canaryPasses();
    expect(world.woken().toSorted()).toEqual(["a0", "a1", "a2"]); // to learn until when
    world.pass(seconds(16.999));
    world.endHolds();
    expect(world.scopes()).toEqual([wholeFleet]);
    world.pass(1);
    world.endHolds();
    expect(world.ended()).toEqual([{ because: "mass-silence", scope: "fleet", lastedSeconds: 47 }]);
    expect(world.woken().toSorted()).toEqual(["a0", "a1", "a2"]); // to be judged
    expect(world.scopes()).toEqual([]);
  });

  it("release grace: the return of one that was judged meanwhile gives the others, with more patience, a TTL from then", () => {
    const world = held();
    world.canaryPasses();
    world.pass(seconds(17));
    world.leave("a0"); // its own TTL was shorter: UNRESPONSIVE by now
    world.pass(seconds(5));
    world.hear("a9"); // was never part of it
    expect(world.around("a1").hold?.provenAt).toBe(world.now - seconds(22));
    world.hear("a0");
    expect(world.around("a1").hold?.provenAt).toBe(world.now);
    world.pass(seconds(5));
    world.hear("a0"); // once is enough
    expect(world.around("a1").hold?.provenAt).toBe(world.now - seconds(5));
  });

  it("the first canary counts; later ones do not put off the end", () => {
    const world = held();
    world.canaryPasses();
    for (let i = 0; i < 17; i++) {
      world.pass(seconds(1));
      world.canaryPasses();
    }
    world.endHolds();
    expect(world.scopes()).toEqual([]);
  });

  it("waits for the slowest of the silent: one TTL is theirs", () => {
    const world = held();
    world.stayQuietSince(world.now, "a5");
    world.fleet.note(
      { agentId: "a5", node: null, watched: true, quietSince: world.now, interval: minutes(5), ttl: minutes(15) },
      world.now,
    );
    world.canaryPasses();
    world.pass(seconds(17));
    world.endHolds();
    expect(world.scopes()).toEqual([wholeFleet]);
    world.pass(minutes(15));
    world.endHolds();
    expect(world.scopes()).toEqual([]);
  });

  it("ends at once when everybody is back", () => {
    const world = held();
    world.pass(seconds(3));
    world.comeBack("a0", "a1", "a2");
    world.endHolds();
    expect(world.ended()).toMatchObject([{ lastedSeconds: 3 }]);
  });

  it("the first one back proves the path; the others have a full TTL from then", () => {
    const world = held();
    world.pass(seconds(100));
    world.comeBack("a0");
    expect(world.woken().toSorted()).toEqual(["a1", "a2"]);
    world.pass(seconds(10));
    world.comeBack("a1"); // does not put it off again
    world.pass(seconds(6.999));
    world.endHolds();
    expect(world.scopes()).toEqual([wholeFleet]);
    world.pass(1);
    world.endHolds();
    expect(world.scopes()).toEqual([]);
  });

  it("those still silent afterwards are judged, and do not start another one", () => {
    const world = held();
    world.canaryPasses();
    world.pass(seconds(17));
    world.endHolds();
    world.pass(seconds(1));
    world.fallQuiet("a3");
    world.fallQuiet("a4");
    expect(world.scopes()).toEqual([]); // two new ones among five silent
    world.fallQuiet("a5");
    expect(world.started()).toMatchObject([{ silent: 3, of: 6 }]); // three new ones are another matter
  });

  it("a second silence of one that came back in between counts again", () => {
    const world = held();
    world.canaryPasses();
    world.pass(seconds(17));
    world.endHolds();
    world.comeBack("a0", "a1", "a2");
    world.pass(minutes(5));
    world.woken();
    world.fallQuiet("a0", "a1", "a2");
    expect(world.scopes()).toEqual([wholeFleet]);
  });

  it("ends when all it was about have left", () => {
    const world = held();
    world.leave("a0", "a1", "a2");
    world.endHolds();
    expect(world.scopes()).toEqual([]);
  });

  it("of a node ends, and that is told, also when nobody is left there", () => {
    const world = fleetOf(20, (i) => (i < 3 ? "east" : "west"));
    world.fallQuiet("a0", "a1", "a2");
    world.leave("a0", "a1", "a2");
    world.endHolds();
    expect(world.ended()).toMatchObject([{ scope: "node east" }]);
  });

  it("does not come of one that is back, a canary that passes or a look when nobody is held", () => {
    const world = fleetOf(6);
    world.fallQuiet("a0");
    world.comeBack("a0");
    world.canaryPasses();
    world.endHolds();
    expect(world.scopes()).toEqual([]);
    expect([...world.started(), ...world.ended()]).toEqual([]);
  });

  it("that is over does not come back with one that was judged in it", () => {
    const world = held();
    world.leave("a0", "a1", "a2");
    world.endHolds();
    world.hear("a0");
    expect(world.scopes()).toEqual([]);
  });

  it("that is the second is proven by those it is about: the first one back of them, and nobody who was judged in the first", () => {
    const world = held();
    world.leave("a0"); // judged
    world.comeBack("a1", "a2");
    world.endHolds();
    world.pass(minutes(5));
    world.fallQuiet("a3", "a4", "a5", "a6");
    expect(world.scopes()).toEqual([wholeFleet]);
    world.hear("a0");
    expect(world.around("a4").hold?.provenAt).toBeNull();
    world.comeBack("a3");
    expect(world.around("a4").hold?.provenAt).toBe(world.now);
  });
});

describe("peers", () => {
  it("when somebody else was last heard is known for everyone, the last speaker too", () => {
    const world = fleetOf(3);
    world.pass(1000);
    world.hear("a0");
    const first = world.now;
    world.pass(1000);
    world.hear("a1");
    const second = world.now;
    world.pass(1000);
    world.hear("a1");
    expect(world.around("a0")).toMatchObject({ peers: 2, peersHeardAt: world.now });
    expect(world.around("a1").peersHeardAt).toBe(first);
    expect(world.around("a2").peersHeardAt).toBe(world.now);
    expect(second).toBeLessThan(world.now);
  });

  it("are those of its node where there are at least three, else the whole fleet", () => {
    const world = fleetOf(12, (i) => (i < 3 ? "east" : i < 5 ? "south" : "west"));
    expect(world.around("a0").peers).toBe(2);
    expect(world.around("a4").peers).toBe(11);
    expect(world.around("a9").peers).toBe(6);
  });

  it("of a node are heard there, by whoever speaks on it", () => {
    const world = fleetOf(12, (i) => (i < 3 ? "east" : "west"));
    world.pass(1000);
    world.hear("a0");
    const inTheEast = world.now;
    world.pass(1000);
    world.hear("a9");
    expect(world.around("a1").peersHeardAt).toBe(inTheEast);
    expect(world.around("a8").peersHeardAt).toBe(world.now);
  });

  it("an agent that is not in the fleet yet has everybody as peers", () => {
    const world = fleetOf(4);
    expect(world.fleet.around("stranger", null)).toMatchObject({ peers: 4, hold: null });
  });
});
