import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findCommand } from "./find-command.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "rouse-find-")));
  writeFileSync(join(folder, "tool"), "#!/bin/sh\n");
  chmodSync(join(folder, "tool"), 0o755);
  writeFileSync(join(folder, "text"), "");
  mkdirSync(join(folder, "later"));
  writeFileSync(join(folder, "later", "text"), "");
  chmodSync(join(folder, "later", "text"), 0o755);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const fault = (command: string, cwd = folder, env: Record<string, string> = { PATH: folder }) => {
  try {
    return findCommand(command, cwd, env);
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return `${code}: ${message.replaceAll(folder, "HERE")}`;
  }
};

describe("the command of an agent", () => {
  it("is found in its own PATH, not in ours", () => {
    expect(findCommand("tool", "/", { PATH: `/nowhere:${folder}` })).toBe(join(folder, "tool"));
    expect(fault("sh")).toBe('command-not-found: cannot run "sh": not found in PATH');
  });

  it("is found beside its working folder when it has a slash", () => {
    expect(findCommand("./tool", folder, {})).toBe(join(folder, "tool"));
    expect(fault("./none")).toBe('command-not-found: cannot run "./none": no such file');
  });

  it("may be further back in PATH than a file that cannot be run", () => {
    expect(findCommand("text", folder, { PATH: `${folder}:${folder}/later` })).toBe(join(folder, "later", "text"));
  });

  it("that cannot be run is said to be just that", () => {
    expect(fault("./text")).toBe(
      "not-executable: cannot run HERE/text: it is not executable (chmod +x would make it so)",
    );
    expect(fault("./later")).toBe("not-executable: cannot run HERE/later: it is a folder");
    expect(fault("")).toBe('command-not-found: cannot run "": not found in PATH');
  });

  it("needs a folder to run in", () => {
    expect(fault("./tool", join(folder, "gone"))).toBe(
      "folder-gone: the working folder HERE/gone does not exist or is not a folder",
    );
    expect(fault("./tool", join(folder, "text"))).toMatch(/^folder-gone/);
  });
});
