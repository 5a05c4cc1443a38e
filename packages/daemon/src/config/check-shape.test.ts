import { describe, expect, it } from "vitest";
import { describeProblem } from "./config-problem.ts";
import { readConfig } from "./read-config.ts";

function problemsIn(text: string): string[] {
  const reading = readConfig({ file: { name: "c", text } });
  return reading.ok ? [] : reading.problems.map(describeProblem);
}

const monitoring = (inner: string) => problemsIn(`health_monitoring: { ${inner} }`).join("\n");

describe("an unknown key", () => {
  it("is refused at any depth with the nearest known one", () => {
    expect(problemsIn("health_monitorng: {}")).toEqual([
      "c:1:1 health_monitorng: unknown key; did you mean health_monitoring?",
    ]);
    expect(monitoring("heartbeet: {}")).toContain("did you mean heartbeat?");
    expect(monitoring("intervention: { nudge: { maxAttempts: 3 } }")).toContain("did you mean max_attempts?");
    expect(monitoring("circuit_breaker: { overrides: { api: { threshold: 3 } } }")).toContain(
      "overrides.api.threshold: unknown key",
    );
    expect(problemsIn("agents: { w1: { mod: act } }")).toEqual([
      "c:1:17 agents.w1.mod: unknown key; did you mean mode?",
    ]);
  });

  it("that stands on the wrong level is shown the right one", () => {
    expect(problemsIn("heartbeat: { interval_seconds: 5 }")[0]).toContain("did you mean health_monitoring.heartbeat?");
    expect(problemsIn("agents: { w1: { idle_timeout_minutes: 5 } }")[0]).toContain(
      "did you mean terminal.idle_timeout_minutes?",
    );
  });

  it("that is like nothing we know gets no suggestion, and its value is not repeated", () => {
    expect(monitoring("slack_token: xoxb-very-secret")).toBe("c:1:22 health_monitoring.slack_token: unknown key");
  });
});

describe("rules of a circuit breaker", () => {
  it("that are out of range are refused all at once, each with its line", () => {
    const text = `health_monitoring:
  circuit_breaker:
    default:
      failure_threshold: 0
      half_open_requests: 1.5
    overrides:
      recovery_attempt:
        recovery_timeout_seconds: -1
`;
    const problems = problemsIn(text);
    expect(problems.map((problem) => /^c:(\d+):\d+ \S+/.exec(problem)?.[0])).toEqual([
      "c:4:26 health_monitoring.circuit_breaker.default.failure_threshold:",
      "c:5:27 health_monitoring.circuit_breaker.default.half_open_requests:",
      "c:8:35 health_monitoring.circuit_breaker.overrides.recovery_attempt.recovery_timeout_seconds:",
    ]);
  });
});

describe("an entry of a list", () => {
  const entries = (inner: string) => problemsIn(`health_monitoring: { terminal: { patterns: [${inner}] } }`);

  it("is told of its misspelt keys like any other group, and not again that the right ones are missing", () => {
    expect(entries("{ kind: error, patern: x }")).toEqual([
      "c:1:60 health_monitoring.terminal.patterns.0.patern: unknown key; did you mean pattern?",
    ]);
    expect(entries("{ kind: error, pattern: x }, { kind: error, pattern: x, famly: codex }")).toEqual([
      "c:1:101 health_monitoring.terminal.patterns.1.famly: unknown key; did you mean family?",
    ]);
  });

  it("is told of them in an override too", () => {
    const inner = "{ a: { terminal: { patterns: [{ kind: error, patern: x }] } } }";
    for (const group of ["policies", "agent_types", "tasks", "agents"]) {
      expect(problemsIn(`${group}: ${inner}`)).toEqual([
        `c:1:${group.length + 48} ${group}.a.terminal.patterns.0.patern: unknown key; did you mean pattern?`,
      ]);
    }
  });

  it("is told what it lacks and what is wrong in it, where it begins and where that stands", () => {
    const text = `health_monitoring:
  terminal:
    patterns:
      - { kind: error, pattern: x }
      - { kind: error }
      - { kind: eror, pattern: 5, family: claude }
      -
`;
    expect(problemsIn(text)).toEqual([
      "c:5:9 health_monitoring.terminal.patterns.1.pattern: found nothing, expected text of 1 to 1000 characters",
      'c:6:17 health_monitoring.terminal.patterns.2.kind: found "eror", expected rate-limit, asks-permission, asks-question, at-prompt, error, completed, context-limit or file; did you mean error?',
      "c:6:32 health_monitoring.terminal.patterns.2.pattern: found 5, expected text of 1 to 1000 characters",
      'c:6:43 health_monitoring.terminal.patterns.2.family: found "claude", expected claude-code, codex, gemini-cli, opencode, aider or generic',
      "c:7:8 health_monitoring.terminal.patterns.3: found nothing, expected a group of settings",
    ]);
  });
});

describe("a wrong value", () => {
  it("is named together with what was expected", () => {
    expect(monitoring("enabled: 3")).toContain("found 3, expected true or false");
    expect(monitoring("heartbeat: { interval_seconds: 0 }")).toContain(
      "found 0, expected a number above 0, at most 2592000",
    );
    expect(monitoring("heartbeat: { interval_seconds: }")).toContain("found nothing, expected a number");
    expect(monitoring("heartbeat: { interval_seconds: .inf }")).toContain("found Infinity, expected a number");
    expect(monitoring("anomaly: { consecutive: 1.5 }")).toContain("found 1.5, expected a whole number");
    expect(monitoring("recovery: { backoff_seconds: 60 }")).toContain(
      "found 60, expected a list of 1 to 20, each a number",
    );
    expect(monitoring("recovery: { backoff_seconds: [] }")).toContain("found a list, expected a list of 1 to 20, each");
    expect(monitoring("terminal: { completion_marker: '' }")).toContain(
      'found "", expected text of 1 to 200 characters',
    );
    expect(monitoring("alerting: { x: { channels: [1] } }")).toContain(
      "channels.0: found 1, expected text of at most 100 characters",
    );
    expect(monitoring("heartbeat: [1]")).toContain("heartbeat: found a list, expected a group of settings");
    expect(problemsIn("hello")).toEqual(['c:1:1: found "hello", expected a group of settings']);
  });

  it("comes with what was probably meant", () => {
    expect(monitoring("heartbeat: { interval_seconds: 5m }")).toContain("did you mean 300?");
    expect(monitoring("heartbeat: { interval_seconds: '60' }")).toContain("did you mean 60?");
    expect(monitoring("terminal: { idle_timeout_minutes: 1h }")).toContain("did you mean 60?");
    expect(monitoring("enabled: yes")).toContain("did you mean true?");
    expect(monitoring("enabled: off")).toContain("did you mean false?");
    expect(monitoring("mode: asist")).toContain("did you mean assist?");
  });

  it("is repeated only in part and never with control characters", () => {
    const [problem] = problemsIn(`preset: "${"\\e[2J"}${"x".repeat(60)}"`);
    expect(problem).toContain(`found "\ufffd[2J${"x".repeat(36)}…"`);
  });

  it("as an id is refused with the rule for ids", () => {
    expect(problemsIn("agents: { a b: {} }")[0]).toContain(
      "agents.a b: not a name that can be used: must be 1 to 128 letters",
    );
    expect(problemsIn("agents: { rouse.canary: {} }")[0]).toContain("reserved for the monitor itself");
    expect(monitoring(`alerting: { ${"n".repeat(101)}: {} }`)).toContain("must be text of at most 100 characters");
  });
});
