import { policyFrom, settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldGiven, heldStory } from "../held-story.test-support.ts";
import { story } from "../story.test-support.ts";
import { howOver, isExited, refuseRemoval } from "./how-over.ts";

const policy = policyFrom("default", settingsOf("default"));
const how = ({ agent }: Pick<ReturnType<typeof heldStory>, "agent">) => howOver(agent.record, policy)?.how ?? null;
const held = (given: HeldGiven = {}) => heldStory({ obedient: true, ...given });

describe("an agent that Rouse started", () => {
  it("lives until its process ends, also when it said before that it is done", () => {
    const agent = held();
    agent.prints();
    expect(how(agent)).toBe(null);
    expect(isExited(agent.agent.record)).toBe(false);
    expect(refuseRemoval(agent.agent.record, policy)).toBe("runs");
    agent.exits({ code: 0 });
    expect(refuseRemoval(agent.agent.record, policy)).toBe(null);
    expect(howOver(agent.agent.record, policy)).toMatchObject({ how: "finished", code: 0, signal: null });
    expect(isExited(agent.agent.record)).toBe(false);
  });

  it("is not over while it may be started again, and its activity is its exit", () => {
    const agent = heldStory();
    agent.exits({ code: 7 });
    expect(agent.agent.record.ladder.incident).not.toBe(null);
    expect(isExited(agent.agent.record)).toBe(true);
    expect(how(agent)).toBe(null);
    expect(refuseRemoval(agent.agent.record, policy)).toBe("starts-again");
  });

  it("is not over between two runs where it is to run always, unless nobody may start it or a person ended it", () => {
    const always: HeldGiven = { hold: { restart: { when: "always" } } };
    const runsAgain = (given: HeldGiven) => {
      const agent = heldStory(given);
      agent.exits({ code: 0 });
      agent.startsAgain();
      agent.exits({ code: 0 });
      return agent;
    };
    const agent = runsAgain(always);
    expect(agent.agent.record.ending.restart).toBe(null);
    expect(how(agent)).toBe(null);
    expect(refuseRemoval(agent.agent.record, policy)).toBe("starts-again");
    expect(howOver(agent.agent.record, { ...policy, mode: "observe" })).toMatchObject({ how: "finished" });
    const ended = heldStory(always);
    ended.exits({ code: 0, cause: "person" });
    expect(how(ended)).toBe("finished");
  });

  it("is over with its status once it was given up and handed to a person", () => {
    const agent = held({ settings: { mode: "assist" } });
    agent.exits({ code: 7 });
    expect(agent.agent.record.ladder.handedOver).not.toBe(null);
    expect(howOver(agent.agent.record, policy)).toMatchObject({ how: "exited", code: 7 });
  });

  it("is over with its status at once in a person's terminal", () => {
    const agent = held({ hold: { foreground: true } });
    agent.exits({ signal: "SIGKILL", cause: "killed" });
    expect(howOver(agent.agent.record, policy)).toMatchObject({ how: "exited", code: null, signal: "SIGKILL" });
  });

  it("is not over between its end and the decision what to do about it, unless it is only observed or not even that", () => {
    const agent = heldStory();
    agent.exits({ code: 7 });
    const undecided = {
      ...agent.agent.record,
      ladder: { ...agent.agent.record.ladder, incident: null },
      ending: { ...agent.agent.record.ending, restart: null },
    };
    expect(howOver(undecided, policy)).toBe(null);
    expect(howOver(undecided, { ...policy, mode: "observe" })).toMatchObject({ how: "exited" });
    expect(howOver(undecided, { ...policy, enabled: false })).toMatchObject({ how: "exited" });
  });

  it("is not over when it ended at its provider's limit and is to go on after it", () => {
    const agent = held();
    agent.shows({ kind: "rate-limited", pattern: "limit", resetsInMs: 3_600_000, by: "stream", what: "usage" });
    agent.exits({ code: 1 });
    expect(agent.agent.record.ladder.incident).toBe(null);
    expect(how(agent)).toBe(null);
    expect(isExited(agent.agent.record)).toBe(false);
    expect(refuseRemoval(agent.agent.record, policy)).toBe("starts-again");
  });

  it("is terminated when it was stopped for good", () => {
    const agent = held();
    agent.isOrdered("stop");
    agent.passes("20s");
    expect(how(agent)).toBe("terminated");
  });

  it("is not over while processes that it left are at work", () => {
    const agent = held({ hold: { foreground: true } });
    agent.report([], { exit: { code: 0, signal: null, cause: "by-itself" }, leftovers: [{ pid: 7, name: "server" }] });
    expect(how(agent)).toBe(null);
    expect(refuseRemoval(agent.agent.record, policy)).toBe("left-processes");
    agent.agent.take({ kind: "leftovers-gone", incarnation: 1 });
    expect(how(agent)).toBe("finished");
  });

  it.each([{ kind: "stopped", forced: false, processes: 2 }, { kind: "already-over" }] as const)(
    "is over when whoever ordered it has ended the processes that it left, also where no holder says so (%j)",
    (outcome) => {
      const agent = heldStory({ hold: { foreground: true } });
      agent.report([], {
        exit: { code: 0, signal: null, cause: "by-itself" },
        leftovers: [{ pid: 7, name: "server" }],
      });
      agent.isOrdered("stop");
      const [order] = agent.agent.did("stop-agent");
      expect(refuseRemoval(agent.agent.record, policy)).toBe("left-processes");
      agent.handsStopped(order?.key ?? "", outcome);
      expect(refuseRemoval(agent.agent.record, policy)).toBe(null);
    },
  );
});

describe("an agent that only beats", () => {
  it("is over when it says so", () => {
    const agent = story();
    agent.beats();
    expect(how({ agent })).toBe(null);
    agent.beats({ status: "FINISHED" });
    expect(howOver(agent.record, policy)).toMatchObject({ how: "finished", code: null, signal: null });
  });

  it("is not over when it is silent, because nobody knows; but a person may take it out of the list", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    expect(refuseRemoval(agent.record, policy)).toBe("beats");
    agent.silentFor("1m");
    expect(agent.record.health.state).toBe("UNRESPONSIVE");
    expect(how({ agent })).toBe(null);
    expect(refuseRemoval(agent.record, policy)).toBe("question-open");
    agent.decides("allow_more_time");
    expect(refuseRemoval(agent.record, policy)).toBe("beats");
    expect(refuseRemoval({ ...agent.record, ladder: { ...agent.record.ladder, incident: null } }, policy)).toBe(null);
  });
});
