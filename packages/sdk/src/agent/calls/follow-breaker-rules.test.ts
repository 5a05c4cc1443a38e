import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { CircuitBreaker } from "../../guard/breaker.ts";
import type { Agent } from "../agent-api.ts";
import {
  type Instead,
  problem,
  type ScriptedRouse,
  scriptedRouse,
  unreachable,
} from "../scripted-rouse.test-support.ts";

const path = "/api/v1/agents/w/breaker-rules";
const usual = { failure_threshold: 3, recovery_timeout_seconds: 60, half_open_requests: 1 };

/** A Rouse whose owner set these rules, or which answers something else there. */
function rouseWith(answer: object | Instead | typeof unreachable) {
  const rouse = scriptedRouse();
  const isOther = typeof answer === "string" || "status" in answer;
  rouse.script.instead = (asked) => {
    if (asked.path !== path) return undefined;
    return isOther ? (answer as Instead) : { status: 200, body: { default: usual, overrides: {}, ...answer } };
  };
  return rouse;
}

const asked = (rouse: ScriptedRouse) => rouse.until(() => rouse.to(path).length > 0);
/** A beat that is sent after the question was answered. */
const beatsOn = (rouse: ScriptedRouse) => {
  const before = rouse.beats().length;
  return rouse.until(() => rouse.beats().length > before + 1);
};
const fail = (breaker: CircuitBreaker) => breaker.run(() => Promise.reject(new Error("no"))).catch(() => undefined);

/** After how many failures in a row a breaker that was closed opens. */
async function failuresUntilOpen(breaker: CircuitBreaker): Promise<number> {
  for (let n = 1; n <= 20; n++) {
    await fail(breaker);
    if (breaker.state() === "OPEN") return n;
  }
  return Number.POSITIVE_INFINITY;
}

async function trips(agent: Agent, operations: readonly string[]): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const operation of operations) found[operation] = await failuresUntilOpen(agent.breaker(operation));
  return found;
}

describe("what the owner set for breakers", () => {
  it("rules those of the agent: an operation, then what it is part of, then all", async () => {
    const rouse = rouseWith({
      default: { ...usual, failure_threshold: 4 },
      overrides: { tool_execution: { failure_threshold: 2 }, "tool_execution/grep": { failure_threshold: 6 } },
    });
    const { agent } = rouse.agent();
    await asked(rouse);
    await beatsOn(rouse);
    const found = await trips(agent, ["tool_execution/grep", "tool_execution/ls", "tool_execution", "external_api/x"]);
    expect(found).toEqual({
      "tool_execution/grep": 6,
      "tool_execution/ls": 2,
      tool_execution: 2,
      "external_api/x": 4,
    });
  });

  it("comes after what the author wrote, for all of a kind or for one", async () => {
    const rouse = rouseWith({
      overrides: { external_api: { failure_threshold: 2 }, "external_api/a": { failure_threshold: 2 } },
    });
    const { agent } = rouse.agent({ breakers: { external_api: { failureThreshold: 5 } } });
    const own = agent.breaker("own", { failureThreshold: 7 });
    await asked(rouse);
    await beatsOn(rouse);
    expect(await trips(agent, ["external_api/a", "external_api"])).toEqual({ "external_api/a": 5, external_api: 5 });
    expect(await failuresUntilOpen(own)).toBe(7);
  });

  it("is taken by breakers that exist, which stand as they stood", async () => {
    const rouse = scriptedRouse();
    let answer: (given: Instead) => void = () => undefined;
    const held = new Promise<Instead>((resolve) => {
      answer = resolve;
    });
    rouse.script.instead = (one) => (one.path === path ? held : undefined);
    const { agent } = rouse.agent();
    const [open, failing] = [agent.breaker("a"), agent.breaker("b")];
    expect(await failuresUntilOpen(open)).toBe(3);
    await fail(failing);
    await asked(rouse);
    const before = open.save();
    answer({ status: 200, body: { default: { ...usual, failure_threshold: 2 }, overrides: {} } });
    await beatsOn(rouse);
    expect(open.state()).toBe("OPEN");
    expect(open.save().period).toBe(before.period);
    expect(failing.state()).toBe("CLOSED");
    await fail(failing);
    expect(failing.state()).toBe("OPEN");
  });

  it("is left alone where it is out of range or makes no sense", async () => {
    const rouse = rouseWith({
      default: { failure_threshold: 0, recovery_timeout_seconds: "60", half_open_requests: 1.5 },
      overrides: {
        tool_execution: { failure_threshold: -1 },
        "external_api/a": { failure_threshold: 1e9, recovery_timeout_seconds: 1e12 },
        "external_api/b": null,
        "external_api/c": [2],
      },
    });
    const { agent, warnings } = rouse.agent();
    await asked(rouse);
    await beatsOn(rouse);
    const names = ["tool_execution", "external_api/a", "external_api/b", "external_api/c", "constructor"];
    expect(await trips(agent, names)).toEqual(
      Object.fromEntries(names.map((name) => [name, name === "tool_execution" ? 5 : 3])),
    );
    expect(warnings).toEqual([]);
  });

  it.each([
    ["an older Rouse, which has no such path", problem(404, "not-found")],
    ["one that may not say", problem(403, "forbidden")],
    ["one that is too busy", problem(503, "store-unavailable")],
    ["one that answers nonsense", { status: 200, body: "<html>" }],
    ["one that answers nothing", { status: 200, body: "null" }],
    ["one whose line breaks", unreachable],
  ] as const)("is not there: %s disturbs nobody", async (_, answer) => {
    const rouse = rouseWith(answer);
    const { agent, warnings } = rouse.agent();
    await asked(rouse);
    await beatsOn(rouse);
    expect(await trips(agent, ["tool_execution", "external_api"])).toEqual({ tool_execution: 5, external_api: 3 });
    expect(agent.connection()).toMatchObject({ state: "connected", retries: 0, problem: null });
    expect(warnings).toEqual([]);
    expect(rouse.to(path)).toHaveLength(1);
  });

  it("is asked for once, and again after Rouse was away, but not more than once a minute", async () => {
    const real = performance.now.bind(performance);
    let added = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => real() + added);
    onTestFinished(() => clock.mockRestore());
    const rouse = rouseWith({});
    rouse.agent();
    await asked(rouse);
    added += 120_000;
    await beatsOn(rouse);
    expect(rouse.to(path)).toHaveLength(1);
    rouse.script.commands = () => [{ id: "c", kind: "check-in", because: "restarted" }];
    await rouse.until(() => rouse.to(path).length === 2);
    await beatsOn(rouse);
    expect(rouse.to(path)).toHaveLength(2);
    rouse.script.commands = () => [];
    const usually = rouse.script.instead;
    rouse.script.instead = () => unreachable;
    const tried = rouse.asked.length;
    await rouse.until(() => rouse.asked.length > tried);
    rouse.script.instead = usually;
    await beatsOn(rouse);
    expect(rouse.to(path)).toHaveLength(2);
    added += 60_000;
    await rouse.until(() => rouse.to(path).length === 3);
  });
});
