import { settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { describeProblem } from "./config-problem.ts";
import { readConfig, requireConfig } from "./read-config.ts";

const proposalExample = `{
  "agents": {
    "health": {
      "enabled": true,
      "idle_timeout_minutes": 15,
      "completion_timeout_minutes": 10,
      "rate_limit_backoff_seconds": 60,
      "repeated_error_threshold": 5,
      "auto_kill_on_idle": true,
      "auto_kill_on_repeated_error": false,
      "alert_channel": "ops"
    }
  }
}
`;

const inWorkingFolder = (text: string) => readConfig({ botbox: { name: ".botbox.json", text } });
const asked = (text: string, name = "mine.json") => readConfig({ file: { name, text } });

function problems(reading: ReturnType<typeof readConfig>): string[] {
  return reading.ok ? [] : reading.problems.map(describeProblem);
}

describe(".botbox.json", () => {
  it("is understood as the proposal shows it", () => {
    const { settings } = requireConfig(inWorkingFolder(proposalExample));
    expect(settings.enabled).toBe(true);
    expect(settings.terminal).toEqual({
      ...settingsOf("default").terminal,
      idle_timeout_minutes: 15,
      completion_timeout_minutes: 10,
      rate_limit_backoff_seconds: 60,
      repeated_error_threshold: 5,
      auto_kill_on_idle: true,
      auto_kill_on_repeated_error: false,
      alert_channel: "ops",
    });
  });

  it("switches the rule against idle agents on where it says so, and leaves it off where it is silent about it", () => {
    const saying = (health: string) =>
      requireConfig(inWorkingFolder(`{ "agents": { "health": ${health} } }`)).settings.terminal.auto_kill_on_idle;
    expect(settingsOf("default").terminal.auto_kill_on_idle).toBe(false);
    expect(saying('{ "auto_kill_on_idle": true }')).toBe(true);
    expect(saying('{ "idle_timeout_minutes": 15 }')).toBe(false);
    const over = (health: string, owners = true) => {
      const file = { name: "config.yaml", text: `health_monitoring: { terminal: { auto_kill_on_idle: ${owners} } }` };
      const botbox = { name: ".botbox.json", text: `{ "agents": { "health": ${health} } }` };
      return requireConfig(readConfig({ file, botbox })).settings.terminal.auto_kill_on_idle;
    };
    expect(over('{ "alert_channel": "ops" }')).toBe(true);
    expect(over('{ "auto_kill_on_idle": false }')).toBe(false);
    expect(over('{ "auto_kill_on_idle": true }', false)).toBe(false);
  });

  it("can be named as the config file itself, and then the one in the working folder is left alone", () => {
    const reading = readConfig({
      file: { name: "team.json", text: '{ "agents": { "health": { "alert_channel": "team" } } }' },
      botbox: { name: ".botbox.json", text: '{ "agents": { "health": { "alert_channel": "folder" } } }' },
    });
    const config = requireConfig(reading);
    expect(config.settings.terminal.alert_channel).toBe("team");
    expect(config.sources).toEqual(["preset default", "team.json"]);
  });

  it("belongs to other tools too: what is not agents.health is none of our business", () => {
    const text = '{ "project": "x", "agents": { "list": [1], "health": { "enabled": false } }, "tools": {} }';
    expect(requireConfig(inWorkingFolder(text)).settings.enabled).toBe(false);
    expect(requireConfig(inWorkingFolder('{ "agents": ["a"] }')).sources).toEqual(["preset default"]);
  });

  it("is told of every mistake inside agents.health", () => {
    const text =
      '{ "agents": { "health": {\n "idle_timeout_mins": 15,\n "repeated_error_threshold": "5",\n "enabled": 1 } } }';
    expect(problems(inWorkingFolder(text))).toEqual([
      ".botbox.json:2:2 agents.health.idle_timeout_mins: unknown key; did you mean idle_timeout_minutes?",
      '.botbox.json:3:30 agents.health.repeated_error_threshold: found "5", expected a whole number above 0, at most 30',
      ".botbox.json:4:13 agents.health.enabled: found 1, expected true or false",
    ]);
    expect(problems(inWorkingFolder('{ "agents": { "health": 5 } }'))[0]).toContain(
      "found 5, expected a group of settings",
    );
  });

  it("may bring patterns of its own, and is told of every mistake in them", () => {
    const withPatterns = (inner: string) => `{ "agents": { "health": { "patterns": [\n${inner}\n] } } }`;
    const reading = inWorkingFolder(withPatterns('{ "kind": "error", "pattern": "^deploy failed" }'));
    expect(requireConfig(reading).settings.terminal.patterns).toEqual([{ kind: "error", pattern: "^deploy failed" }]);
    const bad = '{ "kind": "error", "patern": "x" },\n{ "kind": "error", "pattern": "(" }';
    expect(problems(inWorkingFolder(withPatterns(bad)))).toEqual([
      ".botbox.json:2:20 agents.health.patterns.0.patern: unknown key; did you mean pattern?",
      expect.stringContaining(".botbox.json:3:31 agents.health.patterns.1.pattern: not a pattern that can be used"),
    ]);
  });

  it("that is broken is refused, because nobody can tell what it meant to say", () => {
    expect(problems(inWorkingFolder('{ "agents": { '))[0]).toContain("not valid YAML");
  });

  it("that was asked for by name must have something to say", () => {
    expect(problems(asked('{ "project": "x" }'))).toEqual([
      "mine.json:1:1: found neither health_monitoring nor agents.health in it",
    ]);
  });

  it("is told apart from our own configuration written as JSON", () => {
    expect(requireConfig(asked('{ "preset": "fleet", "agents": { "health": { "mode": "observe" } } }')).preset).toBe(
      "fleet",
    );
  });
});
