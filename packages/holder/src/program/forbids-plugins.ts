import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { readPlainText } from "../read-plain-file.ts";

/** Where an organization's settings for Claude Code lie, which nobody else can change. */
const managedFolders: readonly string[] = ["/etc/claude-code", "/Library/Application Support/ClaudeCode"];

/** Where an organization has plugins for one run refused, Claude Code does not even start with one. */
export function forbidsPlugins(env: Readonly<Record<string, string>>, folders = managedFolders): boolean {
  const own = env["CLAUDE_CONFIG_DIR"] ?? join(env["HOME"] ?? homedir(), ".claude");
  const files = folders.flatMap((folder) => [join(folder, "managed-settings.json"), ...addedIn(folder)]);
  // Those that come from its server are kept with the user's own, in a wrapping that is nobody's promise.
  return [...files, join(own, "remote-settings.json")].some((file) => forbids.test(readPlainText(file) ?? ""));
}

const forbids = /"disableSideloadFlags"\s*:\s*true/;

function addedIn(folder: string): string[] {
  const added = join(folder, "managed-settings.d");
  try {
    return readdirSync(added).map((name) => join(added, name));
  } catch {
    return []; // as almost everywhere
  }
}
