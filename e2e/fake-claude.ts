import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "./clean-up.ts";
import { repository } from "./run-rouse.ts";

/** The program that plays the roles of quiet agents. */
export const quietAgent = join(repository, "e2e", "quiet-agent.mjs");

/** A command that Rouse takes for Claude Code by its name, and that plays a role whatever its words are. */
export function fakeClaude(role: string, ...words: string[]): string[] {
  const program = join(makeFolder(), "claude");
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${quietAgent}' ${role}\n`, { mode: 0o755 });
  return [program, ...words];
}

/** Such a command that writes a stream of JSON instead of drawing a screen. */
export const fakeStream = (role: string): string[] => fakeClaude(role, "-p", "x", "--output-format", "stream-json");
