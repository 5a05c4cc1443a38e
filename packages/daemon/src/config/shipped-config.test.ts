import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { presetNames } from "@rouse/contract";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadConfig } from "./load-config.ts";
import { requireConfig } from "./read-config.ts";
import { isConfigured, shippedConfig } from "./shipped-config.ts";

let home = "";
let workingFolder = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rouse-shipped-"));
  workingFolder = join(home, "work");
  mkdirSync(workingFolder);
});
afterEach(() => rmSync(home, { recursive: true }));

const places = (environment: Record<string, string> = {}) => ({ home, workingFolder, environment });

it("is what is read where nothing is configured", async () => {
  expect(isConfigured(places())).toBe(false);
  const read = requireConfig(await loadConfig(places()));
  expect(shippedConfig.settings).toEqual(read.settings);
  expect(shippedConfig.policyNames()).toEqual(read.policyNames());
  for (const policy of [null, "unknown", ...presetNames]) {
    const agent = { agentId: "a", agentType: "t", taskId: "x", policy };
    expect(shippedConfig.settingsFor(agent), String(policy)).toEqual(read.settingsFor(agent));
  }
});

it("does not hold where there is anything to read, or anything wrong", () => {
  expect(isConfigured(places({ ACK_SLA: "5m" }))).toBe(true);
  expect(isConfigured(places({ ACK_SLA: " ", OTHER: "x" }))).toBe(false);
  writeFileSync(join(workingFolder, ".botbox.json"), "{}");
  expect(isConfigured(places())).toBe(true);
  rmSync(join(workingFolder, ".botbox.json"));
  mkdirSync(join(home, "config.yaml"));
  expect(isConfigured(places())).toBe(true);
  rmSync(join(home, "config.yaml"), { recursive: true });
  symlinkSync("config.yaml", join(home, "config.yaml"));
  expect(isConfigured(places())).toBe(true);
});
