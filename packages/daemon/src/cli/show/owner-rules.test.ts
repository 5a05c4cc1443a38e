import { minutes, overlay, type PartialSettings, type Settings, settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { describeOwnerRules } from "./owner-rules.ts";

const settings = (changes: PartialSettings = {}): Settings => overlay(settingsOf("default"), changes);

const again = { when: "on-failure" } as const;

describe("what is said of an owner's rules when an agent is started", () => {
  it("is nothing where nobody made a rule", () => {
    expect(describeOwnerRules("a", null, settings(), again)).toEqual([]);
  });

  it("names who said so: the person who starts it, or its policy", () => {
    expect(describeOwnerRules("a", minutes(30), settings(), again)).toEqual([
      "a will be stopped after 30 min without any sign of work, because you said so.",
    ]);
    expect(describeOwnerRules("a", null, settings({ terminal: { auto_kill_on_idle: true } }), again)).toEqual([
      "a will be stopped after 15 min without any sign of work, because its policy says so (auto_kill_on_idle).",
    ]);
    expect(describeOwnerRules("a", null, settingsOf("fleet"), again)).toEqual([
      expect.stringMatching(
        /^a will be stopped and started again when its beats stop, .*\(restart_on_missed_beats\)\.$/,
      ),
    ]);
  });

  it("promises no second start where its owner wants none", () => {
    expect(describeOwnerRules("a", null, settingsOf("fleet"), { when: "no" })).toEqual([
      expect.stringMatching(/^a will be stopped when its beats stop, /),
    ]);
  });

  it("is the time this agent was given, where its policy has another", () => {
    const both = settings({ terminal: { auto_kill_on_idle: true, idle_timeout_minutes: 5 } });
    expect(describeOwnerRules("a", minutes(30), both, again)).toEqual([
      "a will be stopped after 30 min without any sign of work, because you said so.",
    ]);
  });

  it("does not promise what its policy forbids", () => {
    const forbidden: readonly [PartialSettings, string][] = [
      [{ mode: "assist" }, "mode: assist"],
      [{ protected: true }, "protected: true"],
      [{ enabled: false }, "enabled: false"],
    ];
    for (const [changes, words] of forbidden) {
      const rules = settings({ ...changes, terminal: { auto_kill_on_idle: true } });
      expect(describeOwnerRules("a", null, rules, again)).toEqual([]);
      expect(describeOwnerRules("a", minutes(30), rules, again)).toEqual([
        `--idle-kill has no effect on a: its policy has ${words}.`,
      ]);
    }
  });
});
