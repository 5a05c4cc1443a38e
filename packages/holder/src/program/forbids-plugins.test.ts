import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { forbidsPlugins } from "./give-hooks.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-managed-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const forbidden = (env: Record<string, string> = { HOME: folder }) => forbidsPlugins(env, [join(folder, "etc")]);

function write(file: string, content: object): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), JSON.stringify(content, null, 2));
}

describe("plugins for one run", () => {
  it("are allowed where nobody says otherwise", () => {
    expect(forbidden()).toBe(false);
    write("etc/managed-settings.json", { disableSideloadFlags: false, model: "opus" });
    // Only an organization can.
    write(".claude/settings.json", { disableSideloadFlags: true });
    expect(forbidden()).toBe(false);
  });

  it.each(["etc/managed-settings.json", "etc/managed-settings.d/10-plugins.json", ".claude/remote-settings.json"])(
    "are forbidden by %s",
    (file) => {
      write(file, { settings: { disableSideloadFlags: true } });
      expect(forbidden()).toBe(true);
    },
  );

  it("are forbidden by what is kept where the user has their settings instead", () => {
    write("mine/remote-settings.json", { disableSideloadFlags: true });
    expect(forbidden()).toBe(false);
    expect(forbidden({ HOME: folder, CLAUDE_CONFIG_DIR: join(folder, "mine") })).toBe(true);
  });

  it.each(["etc/managed-settings.json", "etc/managed-settings.d/10-plugins.json", ".claude/remote-settings.json"])(
    "are waited for by nobody where %s is a pipe",
    (file) => {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      execFileSync("mkfifo", [join(folder, file)]);
      expect(forbidden()).toBe(false);
    },
  );
});
