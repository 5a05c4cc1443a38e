import fc from "fast-check";
import { RE2JS } from "re2js";
import { describe, expect, it } from "vitest";
import { documentSchema } from "./config-document.ts";
import { printConfig } from "./print-config.ts";
import { type Config, readConfig, requireConfig } from "./read-config.ts";
import { isGroup, type SchemaNode } from "./schema-node.ts";

const configFrom = (text: string) => requireConfig(readConfig({ file: { name: "c", text } }));

/** Anything a person may write under a node of the schema. */
function anythingFor(node: SchemaNode, key = ""): fc.Arbitrary<unknown> {
  if (node.enum) return fc.constantFrom(...node.enum);
  if (node.type === "boolean") return fc.boolean();
  if (key === "webhook_url") return fc.webUrl({ validSchemes: ["https"] });
  if (key === "anchor") return fc.array(fc.constantFrom("file:a", "git:b#refs/rouse/c", "webhook:https://d.example"));
  if (key === "pattern") return fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }).map(RE2JS.quote);
  if (node.type === "string") return fc.string({ unit: "grapheme", minLength: node.minLength ?? 0, maxLength: 20 });
  if (node.type === "integer") return fc.integer({ min: 1, max: node.maximum ?? 9 });
  if (node.type === "number") return anyNumber(node, key);
  if (node.type === "array") return fc.array(anythingFor(node.items ?? {}), { minLength: 1, maxLength: 3 });
  if (node.properties)
    return fc.record(mapValues(node.properties, anythingFor), { requiredKeys: [...(node.required ?? [])] });
  const name = node.propertyNames?.pattern
    ? fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,12}$/)
    : fc.string({ unit: "grapheme", maxLength: 12 });
  const usable = name.filter((text) => text !== "__proto__" && !text.startsWith("rouse."));
  return fc.dictionary(usable, anythingFor(node.additionalProperties as SchemaNode), { maxKeys: 2 });
}

/** The two larger halves of what must not contradict stay above the smaller ones, so that most documents are accepted. */
function anyNumber(node: SchemaNode, key: string): fc.Arbitrary<number> {
  const max = node.maximum ?? 1;
  const between = (from: number, to: number) =>
    fc.double({ min: from, max: to, noNaN: true, minExcluded: node.exclusiveMinimum !== undefined });
  if (/^(timeout_seconds|checkpoint_stale_threshold_seconds)$/.test(key)) return between(max / 2, max);
  if (/^(interval_seconds|checkpoint_degraded_threshold_seconds)$/.test(key)) return between(0, 1000);
  return between(node.minimum ?? 0, max);
}

const mapValues = (nodes: Readonly<Record<string, SchemaNode>>, make: typeof anythingFor) =>
  Object.fromEntries(Object.entries(nodes).map(([key, node]) => [key, make(node, key)]));

const essence = ({ preset, settings, overrides, selfCheck, retention }: Config) => ({
  preset,
  settings,
  overrides,
  selfCheck,
  retention,
});

describe("a printed configuration", () => {
  it("reads back to the very same one, whatever it says", () => {
    let accepted = 0;
    const property = fc.property(anythingFor(documentSchema.node), (document) => {
      const reading = readConfig({ file: { name: "any.yaml", text: JSON.stringify(document) } });
      if (!reading.ok) return;
      accepted += 1;
      const again = configFrom(printConfig(reading.config));
      expect(essence(again)).toEqual(essence(reading.config));
      expect(again.policyNames()).toEqual(reading.config.policyNames());
      const agents = isGroup(document) && isGroup(document.agents) ? Object.keys(document.agents) : [];
      const subjects = [
        ...["x", ...agents].map((agentId) => ({ agentId, agentType: null, taskId: null })),
        ...again.policyNames().map((policy) => ({ agentId: "x", agentType: null, taskId: null, policy })),
      ];
      for (const subject of subjects) {
        expect(again.policyFor(subject)).toEqual(reading.config.policyFor(subject));
        expect(again.settingsFor(subject)).toEqual(reading.config.settingsFor(subject));
      }
    });
    fc.assert(property, { numRuns: 100 });
    expect(accepted).toBeGreaterThan(20);
  });

  it("holds what .botbox.json and the environment changed", () => {
    const config = requireConfig(
      readConfig({
        botbox: { name: ".botbox.json", text: '{ "agents": { "health": { "alert_channel": "null" } } }' },
        environment: { ACK_SLA: "1m" },
      }),
    );
    const again = configFrom(printConfig(config));
    expect(again.settings).toEqual(config.settings);
    expect(again.settings.terminal.alert_channel).toBe("null");
  });

  it("explains each setting, and says what has no effect and what is not set", () => {
    const printed = printConfig(configFrom("preset: fleet\nagents: { ada: { mode: observe } }"));
    expect(printed).toContain("# What Rouse goes by, from: preset fleet; c\n");
    expect(printed).toContain("    interval_seconds: 5 # how often a working agent beats\n");
    expect(printed).toContain("  # no effect yet in this version\n  anomaly:\n");
    expect(printed).toContain("    # timeout_seconds is not set: silence after which");
    expect(printed).toContain("    backoff_seconds: [ 60, 120, 240 ]\n");
    expect(printed).toMatch(/\nagents:\n {2}ada:\n {4}mode: observe\n$/);
  });

  it("has a section for policies, and each pattern on a line of its own", () => {
    const printed = printConfig(
      configFrom(`
health_monitoring: { terminal: { patterns: [{ kind: error, pattern: '^x' }, { kind: error, pattern: '^y' }] } }
policies: { careful: { mode: assist } }
`),
    );
    expect(printed).toContain(
      "    patterns:\n      - kind: error\n        pattern: ^x\n      - kind: error\n        pattern: ^y\n",
    );
    expect(printed).toMatch(/\n\npolicies:\n {2}careful:\n {4}mode: assist\n$/);
  });

  it("names its sources on one line, whatever a file is called", () => {
    const config = requireConfig(readConfig({ file: { name: "a\nenabled: false", text: "" } }));
    expect(printConfig(config).split("\n")[0]).toBe("# What Rouse goes by, from: preset default; a enabled: false");
  });
});
