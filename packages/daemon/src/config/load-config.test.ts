import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeProblem } from "./config-problem.ts";
import { loadConfig } from "./load-config.ts";
import { requireConfig } from "./read-config.ts";
import type { ConfigPlaces } from "./shipped-config.ts";

let folder: string;
let places: ConfigPlaces;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-config-"));
  places = { home: join(folder, "home"), workingFolder: join(folder, "work"), environment: {} };
  mkdirSync(places.home);
  mkdirSync(places.workingFolder);
});

afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, content: string | Uint8Array) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

async function problems(configFile?: string): Promise<string[]> {
  const reading = await loadConfig({ ...places, configFile });
  return reading.ok ? [] : reading.problems.map(describeProblem);
}

describe("looking for the configuration", () => {
  it("does without any file", async () => {
    expect(requireConfig(await loadConfig(places)).sources).toEqual(["preset default"]);
    expect(requireConfig(await loadConfig({ ...places, home: join(folder, "nowhere") })).preset).toBe("default");
  });

  it("finds config.yaml in the home folder and .botbox.json in the working folder", async () => {
    const own = write("home/config.yaml", "preset: fleet");
    const botbox = write("work/.botbox.json", '{ "agents": { "health": { "enabled": false } } }');
    const config = requireConfig(await loadConfig(places));
    expect(config.sources).toEqual(["preset fleet", own, botbox]);
    expect(config.settings.enabled).toBe(false);
  });

  it("takes the file that was named instead of the one in the home folder", async () => {
    write("home/config.yaml", "broken: [");
    const configFile = write("mine.yaml", "preset: tasks");
    expect(requireConfig(await loadConfig({ ...places, configFile })).preset).toBe("tasks");
  });

  it("reads the environment it is given", async () => {
    const config = requireConfig(await loadConfig({ ...places, environment: { ACK_SLA: "1m" } }));
    expect(config.settings.escalation.ack_sla_seconds).toBe(60);
  });

  it("reads a file with a byte order mark", async () => {
    const configFile = write("bom.yaml", "\ufeffpreset: fleet");
    expect(requireConfig(await loadConfig({ ...places, configFile })).preset).toBe("fleet");
  });
});

describe("a file that cannot be used", () => {
  it("is a problem when it was named and is not there", async () => {
    const missing = join(folder, "missing.yaml");
    expect(await problems(missing)).toEqual([`${missing}: there is no such file`]);
  });

  it("is a problem when it is a folder, not text, or too large", async () => {
    expect(await problems(folder)).toEqual([`${folder}: is a folder, expected a file`]);
    const binary = write("binary.yaml", Uint8Array.of(0x70, 0xff, 0xfe));
    expect(await problems(binary)).toEqual([`${binary}: is not UTF-8 text`]);
    const large = write("large.yaml", "#".repeat(2_000_000));
    expect(await problems(large)).toEqual([`${large}: the file is larger than 1 MB`]);
  });

  it("keeps nobody waiting where an agent has made a pipe of it", async () => {
    const botbox = join(places.workingFolder, ".botbox.json");
    execFileSync("mkfifo", [botbox]);
    expect(await problems()).toEqual([`${botbox}: is not a plain file`]);
  });

  it("does not keep the problems of the others from being told", async () => {
    const botbox = write("work/.botbox.json", '{ "agents": { "health": { "enable": true } } }');
    expect(await problems(join(folder, "missing.yaml"))).toEqual([
      `${join(folder, "missing.yaml")}: there is no such file`,
      `${botbox}:1:27 agents.health.enable: unknown key; did you mean enabled?`,
    ]);
  });
});
