import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findPolicy } from "./find-policy.ts";

let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rouse-policy-"));
  const strict =
    "policies:\n  strict:\n    loops: { cycle: { stuck: 3 } }\nagent_types:\n  codex:\n    mode: observe\n";
  writeFileSync(join(home, "config.yaml"), `health_monitoring:\n  mode: assist\n${strict}`);
});

afterEach(() => rmSync(home, { recursive: true }));

const find = (wanted?: string) => findPolicy(wanted, { home, workingFolder: home, environment: {} });

describe("the policy of a replay", () => {
  it("is what rouse up would go by when none is named", async () => {
    expect((await find()).policyOf("run-1").mode).toBe("assist");
  });

  it("is a preset as it ships, or one of the user's own, by name", async () => {
    expect((await find("fleet")).policyOf("run-1")).toMatchObject({ mode: "act" });
    expect((await find("strict")).policyOf("run-1")).toMatchObject({ mode: "assist", loops: { cycle: { stuck: 3 } } });
  });

  it("is a file like config.yaml, every mistake in it told at once", async () => {
    const file = join(home, "other.yaml");
    writeFileSync(file, "preset: fleet\nhealth_monitoring:\n  mode: observe\n");
    expect(await find(file)).toMatchObject({ name: file });
    expect((await find(file)).policyOf("run-1").mode).toBe("observe");
    writeFileSync(file, "preset: flet\nhealth_monitorin: {}\n");
    await expect(find(file)).rejects.toThrow(/did you mean fleet\?.*did you mean health_monitoring\?/s);
  });

  it("takes the source of a run for the type of its agent", async () => {
    expect((await find()).policyOf("codex/run-1").mode).toBe("observe");
  });

  it("is not guessed: a name nobody knows is refused with the nearest", async () => {
    await expect(find("stric")).rejects.toThrow(
      "no policy stric: expected default, fleet, tasks, strict or a .yaml file; did you mean strict?",
    );
  });
});
