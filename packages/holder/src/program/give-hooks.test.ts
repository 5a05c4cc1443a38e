import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Spec } from "../protocol/spec.ts";
import { emptyHooks, giveHooks } from "./give-hooks.ts";
import { heldMs } from "./listen-for-hooks.ts";

const folder = mkdtempSync(join(tmpdir(), "rouse-hooks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const plugin = join(folder, "plugin");
const file = join(plugin, "hooks", "hooks.json");
const ear = { url: "http://127.0.0.1:4242/", token: "the secret of this life", close() {} };

const env = { HOME: folder };
const give = (...command: string[]) => giveHooks({ command, cwd: folder, env } as unknown as Spec, ear, plugin);
const written = () => JSON.parse(readFileSync(file, "utf8")) as { hooks: Record<string, unknown[]> };

describe("the hooks of Claude Code", () => {
  it("are given as a plugin for this run, right after the program, with everything else as the user gave it", () => {
    expect(give("nice", "claude", "-p", "do it", "--model", "x")).toEqual({
      kind: "given",
      command: ["nice", "claude", "--plugin-dir", plugin, "-p", "do it", "--model", "x"],
      env: { ROUSE_HOOK_TOKEN: ear.token },
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(Object.keys(written().hooks)).toEqual(
      expect.arrayContaining(["PreToolUse", "PostToolBatch", "StopFailure"]),
    );
  });

  it("never decide anything, say nothing in its spinner, and keep the secret out of arguments and files", () => {
    const given = give("claude");
    const entries = Object.values(written().hooks).flat() as {
      hooks: { onFailure: string; statusMessage: string }[];
    }[];
    expect(entries.flatMap(({ hooks }) => hooks).every((hook) => hook.onFailure === "continue")).toBe(true);
    // One that is empty counts as none.
    expect(entries.flatMap(({ hooks }) => hooks).every((hook) => hook.statusMessage === " ")).toBe(true);
    expect(JSON.stringify([given.kind === "given" ? given.command : [], readFileSync(file, "utf8")])).not.toContain(
      ear.token,
    );
  });

  it("wait longer for the answer before a tool than it may be held, and not for any other", () => {
    give("claude");
    const waits = Object.entries(written().hooks).map(([event, entries]) => [
      event,
      (entries as { hooks: { timeout: number }[] }[]).at(-1)?.hooks[0]?.timeout,
    ]);
    const { PreToolUse, ...others } = Object.fromEntries(waits);
    expect(PreToolUse * 1000).toBeGreaterThan(heldMs);
    expect(new Set(Object.values(others))).toEqual(new Set([5]));
  });

  it("are those of a conversation that is resumed, too", () => {
    const spec = {
      command: ["claude", "-p", "x"],
      resumed: ["claude", "--resume", "s", "-p", "go on"],
      cwd: folder,
      env,
    };
    expect(giveHooks(spec as unknown as Spec, ear, plugin)).toMatchObject({
      command: ["claude", "--plugin-dir", plugin, "--resume", "s", "-p", "go on"],
    });
  });

  it.each([
    [["--settings", "team.json"]],
    [["--settings=team.json"]],
    [["--settings", '{"permissions":{"deny":["Read(/secret.txt)"]}}']],
    [["--settings", "missing.json"]],
    [["--plugin-dir", "theirs", "--plugin-dir", "more"]],
    [["--plugin-dir=theirs"]],
  ])("are given beside %j of the user's own, which stays where it is", (own) => {
    mkdirSync(join(folder, "theirs", ".claude-plugin"), { recursive: true });
    writeFileSync(join(folder, "theirs", ".claude-plugin", "plugin.json"), JSON.stringify({ name: "theirs" }));
    expect(give("claude", ...own, "-p", "x")).toMatchObject({
      command: ["claude", "--plugin-dir", plugin, ...own, "-p", "x"],
    });
  });

  it("are given once when the command was copied from another life", () => {
    const other = join(folder, "other");
    giveHooks({ command: ["claude"], cwd: folder, env } as unknown as Spec, ear, other);
    for (const copied of [["--plugin-dir", other], ["--plugin-dir", "other"], [`--plugin-dir=${other}`]])
      expect(give("claude", ...copied, "--resume", "s", "--", "--plugin-dir", other)).toMatchObject({
        command: ["claude", "--plugin-dir", plugin, "--resume", "s", "--", "--plugin-dir", other],
      });
  });

  it("take nothing out of the command that only names such a folder, or is the user's text", () => {
    const other = join(folder, "other");
    giveHooks({ command: ["claude"], cwd: folder, env } as unknown as Spec, ear, other);
    for (const own of [
      ["--add-dir", other, "-p", "x"],
      ["-p", "x", "--", `--plugin-dir=${other}`],
      ["-p", "x", "--plugin-dir", "--", other],
    ])
      expect(give("claude", ...own)).toMatchObject({ command: ["claude", "--plugin-dir", plugin, ...own] });
  });

  it("keep nobody waiting where the user's own plugin has a pipe for its manifest", () => {
    const theirs = join(folder, "piped");
    mkdirSync(join(theirs, ".claude-plugin"), { recursive: true });
    execFileSync("mkfifo", [join(theirs, ".claude-plugin", "plugin.json")]);
    const own = ["--plugin-dir", theirs, "-p", "x"];
    expect(give("claude", ...own)).toMatchObject({ command: ["claude", "--plugin-dir", plugin, ...own] });
  });

  it("are not given where an organization would have the program refuse to start with them", () => {
    const theirs = { CLAUDE_CONFIG_DIR: join(folder, "managed") };
    mkdirSync(theirs.CLAUDE_CONFIG_DIR);
    writeFileSync(join(theirs.CLAUDE_CONFIG_DIR, "remote-settings.json"), '{"disableSideloadFlags":true}');
    const spec = { command: ["claude"], cwd: folder, env: theirs } as unknown as Spec;
    expect(giveHooks(spec, ear, plugin)).toMatchObject({ because: expect.stringContaining("organization") });
  });

  it("are gone from the folder of a life that is over", () => {
    give("claude");
    emptyHooks(plugin);
    expect(written()).toEqual({ hooks: {} });
  });

  it.each([
    [["claude", "--bare", "-p", "x"], "--bare"],
    [["claude", "--version"], "--version"],
    [["claude", "mcp", "list"], "no conversation"],
    [["sh", "-c", "claude -p x"], "shell"],
    [["codex", "exec", "x"], "none that can be given"],
  ])("are not given to %j, and it is said why", (command, because) => {
    expect(give(...command)).toMatchObject({ kind: "none", because: expect.stringContaining(because) });
  });
});
