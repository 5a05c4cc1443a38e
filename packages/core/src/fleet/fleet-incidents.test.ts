import { fleetId, minutes, policyFrom, type RouseEvent, seconds, selfCheckFrom, settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import type { Action } from "../signal.ts";
import type { FleetDoings, FleetIncident, SavedFleet } from "./fleet-incident.ts";
import { type FleetIncidents, keepFleetIncidents } from "./fleet-incidents.ts";
import type { Presence } from "./watch-deaths.ts";
import { wholeFleet } from "./watch-fleet.ts";

const policy = policyFrom("fleet", settingsOf("fleet"));
const selfCheck = selfCheckFrom(settingsOf("fleet"));
const dawn = 1_000_000;
const node = "node a";

/** Fleet incidents on virtual time. */
function fleet(saved: SavedFleet | null = null, at = dawn) {
  const incidents = keepFleetIncidents(
    saved,
    at,
    () => policy,
    () => selfCheck,
  );
  const events: RouseEvent[] = [];
  const actions: Action[] = [];
  let now = at;
  const take = (doings: FleetDoings | null): FleetDoings | null => {
    events.push(...(doings?.events ?? []));
    actions.push(...(doings?.actions ?? []));
    return doings;
  };
  return {
    incidents,
    fallSilent: (scope: string, ...agents: string[]) => take(incidents.holdBegan(scope, agents, 10, now)),
    holdEnds: (scope = wholeFleet) => take(incidents.holdEnded(scope, now)),
    isHeard: (...agents: string[]) => {
      for (const agentId of agents) take(incidents.note({ agentId, node: "a", presence: "there", needy: false }, now));
    },
    isSilent: (agentId: string, on: string | null = "a") =>
      take(incidents.note({ agentId, node: on, presence: "silent", needy: false }, now)),
    is: (agentId: string, presence: Presence, { node = "a", needy = false } = {}) =>
      take(incidents.note({ agentId, node, presence, needy }, now)),
    forget: (agentId: string) => take(incidents.forget(agentId, now)),
    passes: (duration: number) => {
      now += duration;
      take(incidents.due(now));
    },
    decide: (
      decision: "allow_more_time" | "force_handoff" | "terminate_and_recover",
      more: number | null = null,
      escalation = question(incidents),
    ) => take(incidents.decide(escalation, { decision, actor: "ada", reason: "r", more }, now)),
    acknowledge: (escalation = question(incidents)) => take(incidents.acknowledge(escalation, "ada", now)),
    handsSaid: (key: string, outcome: Parameters<FleetIncidents["handsSaid"]>[1]) =>
      take(incidents.handsSaid(key, outcome)),
    types: () => events.map(({ type }) => type),
    told: (type: RouseEvent["type"]) => events.filter((event) => event.type === type).map(({ payload }) => payload),
    did: (kind: Action["kind"]) => actions.filter((action) => action.kind === kind),
    get now() {
      return now;
    },
  };
}

function question(incidents: FleetIncidents): string {
  const [stage] = incidents.open().map((incident) => incident.stage);
  return stage?.kind === "asked" ? stage.question.id : "none";
}

function asked(): ReturnType<typeof fleet> {
  const world = fleet();
  world.fallSilent(wholeFleet, "w1", "w2", "w3");
  world.holdEnds();
  return world;
}

describe("many that fall silent together", () => {
  it("are one incident that names them; nobody is called while our own path is in doubt", () => {
    const world = fleet();
    world.fallSilent(wholeFleet, "w1", "w2", "w3");
    expect(world.told("FLEET_INCIDENT_OPENED")).toEqual([
      {
        incident: `${fleetId}/1`,
        because: "mass-silence",
        scope: wholeFleet,
        members: 3,
        of: 10,
        agents: ["w1", "w2", "w3"],
      },
    ]);
    world.passes(minutes(30));
    expect(world.types()).toEqual(["FLEET_INCIDENT_OPENED"]);
    expect(["w1", "w4"].map(world.incidents.silentWith)).toEqual([`${fleetId}/1`, null]);
  });

  it("and fall silent together once more, one after the other, are part of the question that is open, and counted once", () => {
    const world = asked();
    world.isHeard("w1", "w2");
    world.fallSilent(wholeFleet, "w1");
    world.isSilent("w2");
    world.isSilent("w9");
    world.holdEnds();
    expect(["w1", "w2", "w9"].map(world.incidents.silentWith)).toEqual(Array(3).fill(`${fleetId}/1`));
    expect(world.incidents.open()).toMatchObject([{ came: 4, stage: { kind: "asked" } }]);
    // Whoever was told of fewer agents is told of all, and asked about all.
    expect(world.did("withdraw-escalation")).toMatchObject([{ escalation: `${fleetId}.1` }]);
    expect(world.did("escalate")).toMatchObject([{}, { escalation: `${fleetId}.2` }]);
    expect(world.did("raise-alert")).toMatchObject([{}, { summary: expect.stringMatching(/^4 agents are silent/) }]);
    // From here on an agent falls silent alone.
    world.isSilent("w10");
    expect(world.incidents.silentWith("w10")).toBeNull();
  });

  it("and are all heard while others may still fall silent are one incident for as long as that lasts", () => {
    const world = asked();
    world.fallSilent(wholeFleet, "w4");
    world.isHeard("w1", "w2", "w3", "w4");
    world.isSilent("w5");
    expect(world.incidents.silentWith("w5")).toBe(`${fleetId}/1`);
    world.isHeard("w5");
    expect(world.told("FLEET_INCIDENT_CLOSED")).toEqual([]);
    world.holdEnds();
    expect(world.told("FLEET_INCIDENT_CLOSED")).toMatchObject([{ because: "all-heard", came: 5 }]);
  });

  it("after time was allowed for others are asked about at once, and so they are when we died before that", () => {
    const granted = asked();
    granted.decide("allow_more_time", minutes(720));
    granted.fallSilent(wholeFleet, "w7", "w8", "w9");
    const later = fleet(granted.incidents.save(), granted.now + seconds(1));
    granted.holdEnds();
    expect(granted.did("escalate")).toHaveLength(2);
    later.passes(minutes(10));
    expect(later.did("escalate")).toHaveLength(1);
  });

  it("on one node, after what was decided for the whole fleet, are asked about anew", () => {
    const world = asked();
    world.decide("force_handoff");
    world.fallSilent(node, "w5");
    world.holdEnds(node);
    expect(world.did("escalate")).toHaveLength(2);
  });

  it("and are silent still when the doubt is over are one alert and one question", () => {
    const world = asked();
    expect(world.did("raise-alert")).toMatchObject([
      { agentId: null, severity: "critical", summary: expect.stringMatching(/^3 agents are silent .*: w1, w2, w3$/) },
    ]);
    expect(world.did("escalate")).toEqual([
      {
        ...{ kind: "escalate", key: `${fleetId}.1/asked`, agentId: fleetId, escalation: `${fleetId}.1` },
        until: dawn + policy.escalation.timeout,
      },
    ]);
  });

  it("and were all heard in time are nobody's matter", () => {
    const world = fleet();
    world.fallSilent(wholeFleet, "w1", "w2", "w3");
    world.isHeard("w1", "w2", "w3");
    world.holdEnds();
    expect(world.types()).toEqual(["FLEET_INCIDENT_OPENED", "FLEET_INCIDENT_CLOSED"]);
    expect(world.told("FLEET_INCIDENT_CLOSED")).toMatchObject([{ because: "all-heard", came: 3 }]);
  });

  it("leave it one by one; with the last of them alert and question are taken back", () => {
    const world = asked();
    world.isHeard("w1", "w2");
    expect(world.incidents.open()).toMatchObject([{ members: ["w3"] }]);
    expect(world.incidents.silentWith("w1")).toBeNull();
    expect(world.did("resolve-alert")).toEqual([]);
    world.isHeard("w3");
    expect(world.did("resolve-alert")).toHaveLength(1);
    expect(world.did("withdraw-escalation")).toMatchObject([{ escalation: `${fleetId}.1` }]);
    expect(world.incidents.open()).toEqual([]);
  });

  it("take in who falls silent while nobody is judged yet, and not who does so later", () => {
    const world = fleet();
    world.fallSilent(wholeFleet, "w1", "w2", "w3");
    world.isSilent("w4");
    world.holdEnds();
    world.isSilent("w5");
    expect(["w4", "w5"].map(world.incidents.silentWith)).toEqual([`${fleetId}/1`, null]);
  });

  it("take in nobody of another node", () => {
    const world = fleet();
    world.fallSilent(node, "w1", "w2", "w3");
    world.isSilent("w4", "b");
    world.isSilent("w5", "a");
    expect(["w4", "w5"].map(world.incidents.silentWith)).toEqual([null, `${fleetId}/1`]);
  });

  it("of one node become part of the whole fleet's, whose question is the only one", () => {
    const world = fleet();
    world.fallSilent(node, "w1", "w2", "w3");
    world.fallSilent(wholeFleet, "w1", "w2", "w3", "v1", "v2");
    expect(world.told("FLEET_INCIDENT_CLOSED")).toMatchObject([
      { incident: `${fleetId}/1`, because: "part-of-a-wider-one" },
    ]);
    expect(world.incidents.open()).toMatchObject([{ scope: wholeFleet, members: ["w1", "w2", "w3", "v1", "v2"] }]);
    world.holdEnds(node);
    world.holdEnds();
    expect(world.did("escalate")).toHaveLength(1);
    expect(world.did("raise-alert")).toHaveLength(1);
  });

  it("of one node while the whole fleet's is open join that", () => {
    const world = fleet();
    world.fallSilent(wholeFleet, "w1", "w2", "w3");
    world.fallSilent(node, "w1", "w2", "w4");
    expect(world.incidents.open()).toMatchObject([{ scope: wholeFleet, members: ["w1", "w2", "w3", "w4"] }]);
  });

  it("of one node once more, while somebody is asked about that node, join that", () => {
    const world = fleet();
    world.fallSilent(node, "w1", "w2", "w3");
    world.holdEnds(node);
    world.fallSilent(node, "w4", "w5");
    expect(world.told("FLEET_INCIDENT_OPENED")).toHaveLength(1);
    expect(world.incidents.open()).toMatchObject([{ id: `${fleetId}/1`, came: 5, stage: { kind: "asked" } }]);
  });

  it("on every node are one incident of the fleet, also when each was known to be part of its node's", () => {
    const world = fleet();
    world.fallSilent(node, "w1", "w2", "w3");
    world.fallSilent("node b", "v1", "v2", "v3");
    world.holdEnds(node);
    world.passes(seconds(9));
    world.fallSilent(wholeFleet, "w1", "w2", "w3", "v1", "v2", "v3");
    expect(world.incidents.open()).toMatchObject([{ scope: wholeFleet, came: 6 }]);
    expect(world.did("withdraw-escalation")).toMatchObject([{ escalation: `${fleetId}.1` }]);
    expect(world.did("resolve-alert")).toHaveLength(1);
    expect(world.told("FLEET_INCIDENT_CLOSED")).toMatchObject([{ lastedSeconds: 9 }, { lastedSeconds: 9 }]);
  });

  it("are nobody's matter for as long as our path is in doubt for a node or for the whole fleet, whichever lasts longer", () => {
    for (const [first, last] of [
      [node, wholeFleet],
      [wholeFleet, node],
    ] as const) {
      const world = fleet();
      world.fallSilent(wholeFleet, "w1", "w2", "w3");
      world.fallSilent(node, "w1", "w2", "w3");
      world.holdEnds(first);
      expect(world.did("escalate")).toEqual([]);
      expect(world.did("raise-alert")).toEqual([]);
      world.holdEnds(last);
      expect(world.did("escalate")).toHaveLength(1);
    }
  });
});

describe("the question about many", () => {
  it("that nobody answers is asked again after twice the time, and the alert is told again", () => {
    const world = asked();
    const { timeout } = policy.escalation;
    world.passes(timeout - 1);
    expect(world.did("escalate")).toHaveLength(1);
    world.passes(1);
    expect(world.told("ESCALATION_UNANSWERED")).toHaveLength(1);
    expect(world.did("escalate")).toMatchObject([{}, { escalation: `${fleetId}.2`, until: world.now + 2 * timeout }]);
    expect(world.did("raise-alert")).toHaveLength(2);
    expect(world.did("resolve-alert")).toHaveLength(1);
    expect(world.did("withdraw-escalation")).toMatchObject([{ escalation: `${fleetId}.1` }]);
  });

  it("is decided once, for those that are silent still", () => {
    const world = asked();
    world.isHeard("w2");
    expect(world.decide("terminate_and_recover")?.decided).toEqual({
      ...{ agents: ["w1", "w3"], decision: "terminate_and_recover", actor: "ada" },
    });
    expect(world.decide("force_handoff", null, `${fleetId}.1`)).toBeNull();
    world.passes(minutes(600));
    expect(world.did("escalate")).toHaveLength(1);
    expect(world.did("withdraw-escalation")).toHaveLength(1);
    expect(world.did("resolve-alert")).toEqual([]);
  });

  it("that is answered with more time is asked again when that is used up", () => {
    const world = asked();
    expect(world.decide("allow_more_time", minutes(30))?.decided).toBeNull();
    world.passes(minutes(29));
    expect(world.did("escalate")).toHaveLength(1);
    world.passes(minutes(1));
    expect(world.did("escalate")).toHaveLength(2);
  });

  it("is asked anew when more fall silent after it was decided", () => {
    const world = asked();
    world.decide("force_handoff");
    world.fallSilent(wholeFleet, "w1", "w7", "w8", "w9");
    world.holdEnds();
    expect(world.did("escalate")).toHaveLength(2);
    expect(world.incidents.open()).toMatchObject([{ members: ["w1", "w2", "w3", "w7", "w8", "w9"] }]);
  });

  it("that is open when more fall silent gives way to one about all of them, once they had time to be heard", () => {
    const world = asked();
    world.fallSilent(wholeFleet, "w7", "w8", "w9");
    expect(world.did("escalate")).toHaveLength(1);
    world.holdEnds();
    expect(world.did("escalate")).toHaveLength(2);
    expect(world.decide("force_handoff", null, `${fleetId}.1`)).toBeNull();
    expect(world.decide("force_handoff")?.decided?.agents).toEqual(["w1", "w2", "w3", "w7", "w8", "w9"]);
  });

  it("stays as it is when a doubt comes and goes that is about nobody else", () => {
    const world = asked();
    const doubted = (): void => {
      world.fallSilent(wholeFleet, "w1", "w2", "w3");
      world.holdEnds();
    };
    doubted();
    expect(world.did("escalate")).toHaveLength(1);
    world.fallSilent(wholeFleet, "w4");
    world.holdEnds();
    doubted();
    expect(world.did("escalate")).toHaveLength(2);
    expect(world.did("withdraw-escalation")).toHaveLength(1);
    expect(world.incidents.open()).toMatchObject([{ came: 4 }]);
  });

  it("is acknowledged once, and still waits for a decision", () => {
    const world = asked();
    world.acknowledge();
    world.acknowledge();
    expect(world.told("ESCALATION_ACKNOWLEDGED")).toEqual([
      { agentId: fleetId, escalation: `${fleetId}.1`, actor: "ada" },
    ]);
    expect(world.acknowledge("nobody.1")).toBeNull();
    expect(world.decide("allow_more_time")).not.toBeNull();
  });

  it("that reached nobody is said so once, and needs no alert of its own", () => {
    const world = asked();
    world.handsSaid(`${fleetId}.1/asked`, { kind: "undelivered", problem: "refused" });
    world.handsSaid(`${fleetId}.1/asked`, { kind: "undelivered", problem: "refused" });
    expect(world.told("ESCALATION_UNDELIVERED")).toHaveLength(1);
    expect(world.did("raise-alert")).toHaveLength(1);
  });
});

describe("an incident whose members end", () => {
  it("says that not all of them were heard again", () => {
    const world = asked();
    world.isHeard("w1", "w2");
    world.is("w3", "gone");
    expect(world.told("FLEET_INCIDENT_CLOSED")).toMatchObject([{ because: "none-left" }]);
  });

  it("says so when the last of them is removed", () => {
    const world = asked();
    world.isHeard("w1", "w2");
    world.forget("w3");
    expect(world.told("FLEET_INCIDENT_CLOSED")).toMatchObject([{ because: "none-left" }]);
  });

  it("says that all were heard when they were", () => {
    const world = asked();
    world.isHeard("w1", "w2", "w3");
    expect(world.told("FLEET_INCIDENT_CLOSED")).toMatchObject([{ because: "all-heard" }]);
  });
});

describe("many that die together", () => {
  /** Ten agents live, and so many of them die at once. */
  function dies(count: number, world = fleet()) {
    for (let i = 1; i <= 10; i++) world.is(`w${i}`, "there");
    for (let i = 1; i <= count; i++) world.is(`w${i}`, "died");
    return world;
  }

  it("are one incident with one alert, and nobody is asked while they are started again", () => {
    const world = dies(6);
    expect(world.told("FLEET_INCIDENT_OPENED")).toEqual([
      {
        ...{ incident: `${fleetId}/1`, because: "mass-failure", scope: wholeFleet, members: 3, of: 10 },
        agents: ["w1", "w2", "w3"],
      },
    ]);
    expect(world.did("raise-alert")).toEqual([]);
    world.passes(seconds(5));
    expect(world.did("raise-alert")).toHaveLength(1);
    expect(world.did("escalate")).toEqual([]);
    expect(world.incidents.open()).toMatchObject([{ came: 6, because: "mass-failure" }]);
    expect(["w1", "w6", "w7"].map(world.incidents.diedWith)).toEqual([`${fleetId}/1`, `${fleetId}/1`, null]);
    expect(["w1", "w6"].map(world.incidents.silentWith)).toEqual([null, null]);
  });

  it("are no incident when they are two, or less than the share, or die further apart than the window", () => {
    expect(dies(2).types()).toEqual([]);
    const large = fleet();
    for (let i = 11; i <= 20; i++) large.is(`w${i}`, "there");
    expect(dies(5, large).types()).toEqual([]);
    const slow = dies(2);
    slow.passes(selfCheck.massSilenceWindow + 1);
    slow.is("w3", "died");
    expect(slow.types()).toEqual([]);
    slow.is("w4", "died");
    slow.is("w5", "died");
    expect(slow.types()).toEqual(["FLEET_INCIDENT_OPENED"]);
  });

  it("are one of their node where only that has lost so many", () => {
    const world = fleet();
    for (let i = 1; i <= 20; i++) world.is(`v${i}`, "there", { node: "b" });
    for (let i = 1; i <= 4; i++) world.is(`w${i}`, "there");
    for (let i = 1; i <= 3; i++) world.is(`w${i}`, "died");
    expect(world.incidents.open()).toMatchObject([{ scope: node, came: 3 }]);
    for (let i = 1; i <= 20; i++) world.is(`v${i}`, "died", { node: "b" });
    expect(world.incidents.open()).toMatchObject([{ scope: wholeFleet, came: 23 }]);
    expect(world.told("FLEET_INCIDENT_CLOSED")).toMatchObject([{ because: "part-of-a-wider-one" }]);
  });

  it("count also when some of them are back before the third has died", () => {
    const world = dies(2);
    world.is("w1", "there");
    world.is("w3", "died");
    expect(world.incidents.open()).toMatchObject([{ members: ["w2", "w3"], came: 3 }]);
  });

  it("are asked about once when one of them is a person's matter, and one decision is told to all that are down", () => {
    const world = dies(6);
    world.is("w6", "there");
    world.is("w1", "died", { needy: true });
    world.is("w2", "died", { needy: true });
    world.is("w1", "died", { needy: true });
    world.passes(seconds(5) - 1);
    expect(world.did("escalate")).toEqual([]);
    world.passes(1);
    expect(world.did("escalate")).toHaveLength(1);
    expect(world.did("raise-alert").at(-1)).toMatchObject({ summary: expect.stringMatching(/^5 agents are down/) });
    expect(world.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "mass-failure" }]);
    const decided = world.decide("terminate_and_recover");
    expect(decided?.decided?.agents).toEqual(["w1", "w2", "w3", "w4", "w5"]);
    world.is("w1", "died");
    world.is("w2", "died", { needy: true });
    world.passes(seconds(5));
    expect(world.did("escalate")).toHaveLength(1);
    // The agent was brought back and is down for good once more: that is a new question.
    world.is("w1", "died", { needy: true });
    world.passes(seconds(5));
    expect(world.did("escalate")).toHaveLength(2);
  });

  it("and come back, and die once more one after the other, are all named by the question", () => {
    const world = dies(6);
    world.passes(seconds(1));
    for (let i = 1; i <= 6; i++) world.is(`w${i}`, "there");
    world.passes(seconds(30));
    for (let i = 1; i <= 6; i++) world.is(`w${i}`, "died", { needy: true });
    world.passes(seconds(5));
    expect(world.did("escalate")).toHaveLength(1);
    expect(world.did("raise-alert").at(-1)).toMatchObject({ summary: expect.stringMatching(/^6 agents are down/) });
  });

  it("and are back when one is asked about are told of when they die once more, and not each time", () => {
    const world = dies(3);
    world.is("w2", "there");
    world.is("w1", "died", { needy: true });
    world.passes(seconds(5));
    for (let i = 0; i < 3; i++) {
      world.is("w2", "died");
      world.passes(seconds(5));
      expect(world.did("raise-alert")).toHaveLength(2);
      world.is("w2", "there");
      world.passes(seconds(5));
    }
    expect(world.did("raise-alert").at(-1)).toMatchObject({ summary: expect.stringMatching(/^3 agents are down/) });
    expect(world.did("escalate")).toHaveLength(1);
  });

  it("and were back before the others were told of are waited for as long when they die once more", () => {
    const world = dies(6);
    for (let i = 1; i <= 6; i++) world.is(`w${i}`, "there");
    world.passes(seconds(30));
    world.is("w6", "died");
    world.passes(seconds(5) - 1);
    expect(world.did("raise-alert")).toEqual([]);
    world.passes(1);
    expect(world.did("raise-alert").at(-1)).toMatchObject({
      summary: expect.stringMatching(/^1 agent is down .*: w6$/),
    });
  });

  it("and need nobody any more before somebody is asked are not asked about", () => {
    const world = dies(3);
    world.is("w1", "died", { needy: true });
    world.is("w1", "died");
    world.is("w2", "died", { needy: true });
    world.forget("w2");
    world.passes(seconds(5));
    expect(world.did("escalate")).toEqual([]);
  });

  it("are back when they have lived for as long as they died within; dying again meanwhile is no news", () => {
    const world = dies(3);
    world.passes(seconds(5));
    for (const one of ["w1", "w2", "w3"]) world.is(one, "there");
    world.passes(selfCheck.massSilenceWindow - 1);
    world.is("w1", "died");
    world.is("w1", "there");
    world.passes(selfCheck.massSilenceWindow - 1);
    expect(world.types()).toEqual(["FLEET_INCIDENT_OPENED", "ALERT_RAISED"]);
    world.passes(1);
    expect(world.told("FLEET_INCIDENT_CLOSED")).toMatchObject([{ because: "all-back", came: 3 }]);
    expect(world.types()).toContain("ALERT_RESOLVED");
    expect(world.incidents.diedWith("w1")).toBeNull();
  });

  it("take in who dies soon after, and not who dies much later", () => {
    const world = dies(3);
    world.passes(selfCheck.massSilenceWindow);
    world.is("w4", "died");
    world.passes(selfCheck.massSilenceWindow + 1);
    world.is("w5", "died");
    expect(["w4", "w5"].map(world.incidents.diedWith)).toEqual([`${fleetId}/1`, null]);
  });

  it("are told of by name, also who dies while the first are told of, or soon after", () => {
    const world = dies(6);
    const summaries = () => world.did("raise-alert").map((action) => "summary" in action && action.summary);
    world.passes(seconds(5) - 1);
    expect(summaries()).toEqual([]);
    world.passes(1);
    expect(summaries()).toEqual([expect.stringMatching(/^6 agents are down .*: w1, w2, w3, w4, w5 and 1 more$/)]);
    world.passes(minutes(1) - seconds(5));
    world.is("w7", "died");
    world.passes(seconds(5));
    expect(summaries()[1]).toMatch(/^7 agents/);
    world.passes(minutes(5));
    expect(summaries()).toHaveLength(2);
    expect(world.did("escalate")).toEqual([]);
  });

  it("are told of by name, also when we died before that", () => {
    const world = fleet(JSON.parse(JSON.stringify(dies(6).incidents.save())) as SavedFleet);
    world.passes(seconds(5));
    expect(world.did("raise-alert")).toMatchObject([{ summary: expect.stringMatching(/^6 agents/) }]);
    world.passes(minutes(5));
    expect(world.did("raise-alert")).toHaveLength(1);
  });

  it.each([
    ["asked about", () => {}],
    ["given more time", (world: ReturnType<typeof fleet>) => world.decide("allow_more_time", minutes(720))],
  ])("and were %s are asked about anew when who joined is a person's matter, at once or later", (_, first) => {
    const world = dies(3);
    world.is("w1", "died", { needy: true });
    world.passes(seconds(5));
    first(world);
    world.is("w4", "died");
    world.is("w5", "died", { needy: true });
    // The question was about this agent.
    world.is("w2", "died", { needy: true });
    expect(world.did("escalate")).toHaveLength(1);
    world.passes(seconds(5));
    expect(world.did("escalate")).toHaveLength(2);
    expect(world.did("raise-alert").at(-1)).toMatchObject({ summary: expect.stringMatching(/^5 agents/) });
    world.is("w6", "died");
    world.passes(seconds(5));
    expect(world.did("escalate")).toHaveLength(2);
    world.is("w6", "died", { needy: true });
    world.passes(seconds(5));
    expect(world.did("escalate")).toHaveLength(3);
    world.passes(minutes(1));
    expect(world.did("escalate")).toHaveLength(3);
  });

  it("are asked about anew after more time was allowed, when who joined is a person's matter and we died before that", () => {
    const before = dies(3);
    before.is("w1", "died", { needy: true });
    before.passes(seconds(5));
    before.decide("allow_more_time", minutes(720));
    before.is("w4", "died");
    const world = fleet(JSON.parse(JSON.stringify(before.incidents.save())) as SavedFleet, before.now);
    world.is("w4", "died", { needy: true });
    world.passes(seconds(5));
    expect(world.did("escalate")).toHaveLength(1);
  });

  it("leave who is back to itself, however long another stays down", () => {
    const world = dies(3);
    world.is("w1", "there");
    world.passes(selfCheck.massSilenceWindow - 1);
    expect(world.incidents.diedWith("w1")).toBe(`${fleetId}/1`);
    world.passes(1);
    expect(world.incidents.diedWith("w1")).toBeNull();
    world.passes(1);
    world.is("w1", "died");
    expect(world.incidents.diedWith("w1")).toBeNull();
    expect(world.incidents.open()).toMatchObject([{ members: ["w2", "w3"], returned: [] }]);
    world.forget("w2");
    world.is("w3", "there");
    world.passes(selfCheck.massSilenceWindow);
    expect(world.incidents.open()).toEqual([]);
  });

  it("do not take in others because one of them goes up and down", () => {
    const world = dies(3);
    for (let i = 0; i < 3; i++) {
      world.is("w1", "there");
      world.passes(seconds(30));
      world.is("w1", "died");
    }
    world.is("w4", "died");
    expect(["w1", "w4"].map(world.incidents.diedWith)).toEqual([`${fleetId}/1`, null]);
  });

  it("are told of anew when many more die much later", () => {
    const world = dies(3);
    world.passes(minutes(10));
    for (const one of ["w4", "w5", "w6"]) world.is(one, "died");
    expect(world.incidents.open()).toMatchObject([{ came: 6 }]);
    world.passes(seconds(5));
    expect(world.did("raise-alert")).toHaveLength(2);
    expect(world.did("resolve-alert")).toHaveLength(1);
  });

  it("stay so while one is down, until that is removed", () => {
    const world = dies(3);
    world.is("w1", "gone");
    world.forget("w2");
    world.passes(minutes(60));
    expect(world.incidents.open()).toMatchObject([{ members: ["w3"] }]);
    world.forget("w3");
    expect(world.told("FLEET_INCIDENT_CLOSED")).toMatchObject([{ because: "none-left" }]);
  });

  it("stay together across a restart, and are asked about then if a person has to see to one of them", () => {
    const before = dies(3);
    before.is("w3", "there");
    const world = fleet(JSON.parse(JSON.stringify(before.incidents.save())) as SavedFleet, before.now + seconds(9));
    expect(world.incidents.open()).toEqual(before.incidents.open());
    world.is("w3", "died");
    world.is("w1", "died", { needy: true });
    world.passes(seconds(5));
    expect(world.did("escalate")).toHaveLength(1);
    expect(world.incidents.open()).toMatchObject([{ members: ["w1", "w2", "w3"], came: 3 }]);
  });

  it("are another incident than those that fell silent together, of the fleet or of a node", () => {
    const world = fleet();
    world.fallSilent(wholeFleet, "s1", "s2", "s3");
    dies(3, world);
    expect(world.incidents.open()).toMatchObject([
      { because: "mass-silence", members: ["s1", "s2", "s3"] },
      { because: "mass-failure", members: ["w1", "w2", "w3"] },
    ]);
    expect(["s1", "w1"].map(world.incidents.diedWith)).toEqual([null, `${fleetId}/2`]);
    const onNode = fleet();
    onNode.fallSilent(node, "s1", "s2", "s3");
    dies(3, onNode);
    expect(onNode.incidents.open()).toMatchObject([{ members: ["s1", "s2", "s3"] }, { scope: wholeFleet, came: 3 }]);
    expect(onNode.told("FLEET_INCIDENT_CLOSED")).toEqual([]);
  });

  it("grow one by one, each within a minute of the last", () => {
    const world = dies(3);
    for (const one of ["w4", "w5", "w6"]) {
      world.passes(selfCheck.massSilenceWindow);
      world.is(one, "died");
    }
    expect(world.incidents.diedWith("w6")).toBe(`${fleetId}/1`);
  });

  it("have not been back when they die again within a minute, although nobody else died since", () => {
    const world = dies(3);
    world.passes(selfCheck.massSilenceWindow - 1);
    world.is("w1", "there");
    world.passes(2);
    world.is("w1", "died");
    expect(world.incidents.open()).toMatchObject([{ members: ["w2", "w3", "w1"], came: 3 }]);
  });

  it.each([
    ["asked about", () => {}],
    ["given more time", (world: ReturnType<typeof fleet>) => world.decide("allow_more_time", minutes(720))],
  ])("and were %s are not asked about anew when another of them is a person's matter too", (_, first) => {
    const world = dies(3);
    world.is("w1", "died", { needy: true });
    world.passes(seconds(5));
    first(world);
    world.is("w2", "died", { needy: true });
    world.passes(seconds(60));
    expect(world.did("escalate")).toHaveLength(1);
  });

  it("are not waited for because still others follow", () => {
    const world = dies(4);
    world.passes(seconds(3));
    world.is("w5", "died");
    world.passes(seconds(2));
    expect(world.did("raise-alert").at(-1)).toMatchObject({
      summary: "5 agents are down since many ended together 5 s ago: w1, w2, w3, w4, w5",
    });
  });

  it("are over at once when all of them are done or removed", () => {
    const world = dies(3);
    world.is("w1", "there");
    for (const one of ["w1", "w2", "w3"]) world.is(one, "gone");
    expect(world.told("FLEET_INCIDENT_CLOSED")).toMatchObject([{ because: "none-left" }]);
  });

  it("on one node after the other are one incident of the fleet as soon as they are so many, and asked about as one", () => {
    const world = fleet();
    const all = ["a", "b", "c"].flatMap((on) => Array.from({ length: 10 }, (_, i) => ({ id: `${on}${i}`, node: on })));
    for (const { id, node } of all) world.is(id, "there", { node });
    for (const { id, node } of all.slice(0, 4)) world.is(id, "died", { node });
    world.passes(seconds(5));
    expect(world.did("raise-alert")).toMatchObject([{ summary: expect.stringContaining(`down on ${node} since`) }]);
    world.is("a0", "died", { needy: true });
    world.is("a1", "there");
    world.passes(seconds(5));
    expect(world.did("escalate")).toHaveLength(1);
    for (const { id, node } of all.slice(4)) world.is(id, "died", { node });
    world.passes(seconds(5));
    expect(world.incidents.open()).toMatchObject([{ scope: wholeFleet, came: 30, stage: { kind: "asked" } }]);
    expect(world.told("FLEET_INCIDENT_CLOSED")).toMatchObject([{ because: "part-of-a-wider-one" }]);
    expect(world.did("withdraw-escalation")).toHaveLength(1);
    expect(world.did("escalate")).toHaveLength(2);
    world.passes(selfCheck.massSilenceWindow);
    expect(world.incidents.diedWith("a1")).toBeNull();
  });

  it("on nodes that have an incident each are one of the fleet when they grow to be so many", () => {
    const world = fleet();
    const die = (on: string, ...numbers: number[]) => {
      for (const n of numbers) world.is(`${on}${n}`, "died", { node: on });
    };
    for (const on of ["a", "b", "c"]) for (let i = 0; i < 10; i++) world.is(`${on}${i}`, "there", { node: on });
    die("a", 0, 1, 2);
    die("b", 0, 1, 2, 3);
    expect(world.incidents.open()).toMatchObject([{ scope: "node a" }, { scope: "node b" }]);
    die("a", 3, 4);
    expect(world.incidents.open()).toMatchObject([{ scope: wholeFleet, came: 9 }]);
    expect(world.told("FLEET_INCIDENT_CLOSED")).toHaveLength(2);
  });

  it("were there before the monitor came, as it is told then", () => {
    const world = fleet();
    for (let i = 1; i <= 3; i++)
      world.incidents.introduce({ agentId: `w${i}`, node: "a", presence: "there", needy: false }, world.now);
    for (let i = 1; i <= 3; i++) world.is(`w${i}`, "died");
    expect(world.incidents.open()).toMatchObject([{ came: 3 }]);
  });

  it("are nobody who was down when the monitor came", () => {
    const world = fleet();
    for (let i = 1; i <= 6; i++) world.is(`w${i}`, "died");
    expect(world.types()).toEqual([]);
  });

  it("may be many where so many are there", () => {
    const world = fleet();
    world.is("w1", "there");
    world.is("w2", "there");
    expect(world.incidents.mayDieWithOthers(world.now)).toBe(false);
    world.is("w3", "there");
    expect(world.incidents.mayDieWithOthers(world.now)).toBe(true);
    world.is("w3", "died");
    expect(world.incidents.mayDieWithOthers(world.now)).toBe(true);
    expect(world.incidents.mayDieWithOthers(world.now + selfCheck.massSilenceWindow + 1)).toBe(false);
  });
});

describe("a monitor that was away", () => {
  it("goes on with the same question, members and numbers", () => {
    const before = asked();
    before.isHeard("w1");
    const world = fleet(JSON.parse(JSON.stringify(before.incidents.save())) as SavedFleet, before.now + seconds(9));
    expect(world.incidents.open()).toEqual(before.incidents.open());
    world.passes(policy.escalation.timeout);
    expect(world.did("escalate")).toMatchObject([{ escalation: `${fleetId}.2` }]);
    world.isHeard("w2", "w3");
    expect(world.incidents.open()).toEqual([]);
  });

  it("still has the question that was open when more fell silent", () => {
    const before = asked();
    before.fallSilent(wholeFleet, "w4");
    const world = fleet(before.incidents.save(), before.now + seconds(9));
    expect(world.decide("force_handoff", null, `${fleetId}.1`)?.decided?.agents).toEqual(["w1", "w2", "w3", "w4"]);
  });

  it("asks anew, after a TTL, about all when more fell silent under the question that is open", () => {
    const before = asked();
    before.fallSilent(wholeFleet, "w4");
    const again = fleet(before.incidents.save(), before.now + seconds(9));
    // The agent may go away once more before that.
    const world = fleet(JSON.parse(JSON.stringify(again.incidents.save())) as SavedFleet, again.now + seconds(1));
    world.passes(seconds(29));
    expect(world.did("escalate")).toEqual([]);
    world.passes(seconds(10));
    expect(world.did("escalate")).toMatchObject([{ escalation: `${fleetId}.2` }]);
    expect(world.did("withdraw-escalation")).toMatchObject([{ escalation: `${fleetId}.1` }]);
    expect(world.told("ESCALATION_UNANSWERED")).toEqual([]);
    world.passes(seconds(60));
    expect(world.did("escalate")).toHaveLength(1);
  });

  it("knows what a version before it saved", () => {
    const { incidents, counts } = asked().incidents.save();
    const [one] = incidents as FleetIncident[];
    if (one === undefined) throw new Error("no incident");
    const { members, returned, because, latest, lost, grown, ...earlier } = one;
    const world = fleet({ incidents: [{ ...earlier, silent: members, heard: ["w9"] }], counts });
    expect(world.incidents.open()).toMatchObject([{ because: "mass-silence", members: ["w1", "w2", "w3"], came: 3 }]);
    world.isHeard("w1", "w2", "w3");
    expect(world.told("FLEET_INCIDENT_CLOSED")).toHaveLength(1);
  });

  it("gives those nobody was judged for yet a TTL to be heard, then asks", () => {
    const before = fleet();
    before.fallSilent(wholeFleet, "w1", "w2", "w3");
    const world = fleet(before.incidents.save(), before.now + minutes(5));
    world.passes(seconds(29));
    expect(world.did("escalate")).toEqual([]);
    world.passes(seconds(10));
    expect(world.did("escalate")).toHaveLength(1);
  });

  it("has something to save after every change, and nothing when nothing changed", () => {
    const world = fleet();
    const changed = (change: () => unknown): boolean => {
      const before = world.incidents.changes();
      change();
      return world.incidents.changes() !== before;
    };
    expect(changed(() => world.fallSilent(wholeFleet, "w1", "w2", "w3"))).toBe(true);
    expect(changed(() => world.isSilent("w1"))).toBe(false);
    expect(changed(() => world.isSilent("w4"))).toBe(true);
    expect(changed(() => world.isHeard("w4"))).toBe(true);
    expect(changed(() => world.isHeard("w9"))).toBe(false);
    expect(changed(() => world.holdEnds())).toBe(true);
    expect(changed(() => world.acknowledge())).toBe(true);
    expect(changed(() => world.decide("force_handoff"))).toBe(true);
    expect(changed(() => world.isHeard("w1", "w2", "w3"))).toBe(true);
  });
});
