import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Spec } from "../spec.ts";
import { giveHooks } from "./give-hooks.ts";
import { heldMs } from "./withhold-tools.ts";

const folder = mkdtempSync(join(tmpdir(), "rouse-hooks-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, "settings.json");
const ear = { url: "http://127.0.0.1:4242/", token: "the secret of this life", close() {} };

const give = (...command: string[]) => giveHooks({ command, cwd: folder } as unknown as Spec, ear, file);
const written = () => JSON.parse(readFileSync(file, "utf8")) as { hooks: Record<string, unknown[]>; model?: string };

describe("the hooks of Claude Code", () => {
  it("are given in a file for this run, right after the program, with everything else as the user gave it", () => {
    expect(give("nice", "claude", "-p", "do it", "--model", "x")).toEqual({
      kind: "given",
      command: ["nice", "claude", "--settings", file, "-p", "do it", "--model", "x"],
      env: { ROUSE_HOOK_TOKEN: ear.token },
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(Object.keys(written().hooks)).toEqual(
      expect.arrayContaining(["PreToolUse", "PostToolBatch", "StopFailure"]),
    );
  });

  it("never decide anything, and keep the secret out of arguments and files", () => {
    const given = give("claude");
    const entries = Object.values(written().hooks).flat() as { hooks: { onFailure: string; type: string }[] }[];
    expect(entries.flatMap(({ hooks }) => hooks).every((hook) => hook.onFailure === "continue")).toBe(true);
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
    const spec = { command: ["claude", "-p", "x"], resumed: ["claude", "--resume", "s", "-p", "go on"], cwd: folder };
    expect(giveHooks(spec as unknown as Spec, ear, file)).toMatchObject({
      command: ["claude", "--settings", file, "--resume", "s", "-p", "go on"],
    });
  });

  it("are added to settings of the user's own, which stay as they are", () => {
    const theirs = {
      model: "opus",
      hooks: { Stop: [{ hooks: [{ type: "command", command: "say done" }] }], Mine: [1] },
    };
    writeFileSync(join(folder, "theirs.json"), JSON.stringify(theirs));
    for (const settings of [
      ["--settings", "theirs.json"],
      ["--settings", JSON.stringify(theirs)],
      ["--settings=theirs.json"],
    ]) {
      expect(give("claude", ...settings, "-p", "x")).toMatchObject({
        command: ["claude", "--settings", file, "-p", "x"],
      });
      expect(written().model).toBe("opus");
      expect(written().hooks["Stop"]).toHaveLength(2);
      expect(written().hooks["Stop"]?.[0]).toEqual(theirs.hooks.Stop[0]);
      expect(written().hooks["Mine"]).toEqual([1]);
    }
    expect(JSON.parse(readFileSync(join(folder, "theirs.json"), "utf8"))).toEqual(theirs);
  });

  it("leave the user's text alone, even when it speaks of settings", () => {
    expect(give("claude", "--", "--settings", "x")).toMatchObject({
      command: ["claude", "--settings", file, "--", "--settings", "x"],
    });
  });

  it.each([
    [["claude", "--bare", "-p", "x"], "--bare"],
    [["claude", "--version"], "--version"],
    [["claude", "mcp", "list"], "no conversation"],
    [["sh", "-c", "claude -p x"], "shell"],
    [["claude", "--settings", "missing.json"], "--settings"],
    [["claude", "--settings", "{broken"], "--settings"],
    [["codex", "exec", "x"], "none that can be given"],
  ])("are not given to %j, and it is said why", (command, because) => {
    expect(give(...command)).toMatchObject({ kind: "none", because: expect.stringContaining(because) });
  });
});
