import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "./clean-up.ts";
import { repository } from "./run-rouse.ts";

/** What plays the roles of quiet agents. */
export const quietAgent = join(repository, "e2e", "quiet-agent.mjs");

/** A command that is known as Claude Code by its name, and plays a role. It may be started again with other words. */
export function fakeClaude(role: string, ...words: string[]): string[] {
  const program = join(makeFolder(), "claude");
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${quietAgent}' ${role}\n`, { mode: 0o755 });
  return [program, ...words];
}

/** The same, with its stream of JSON instead of a screen. */
export const fakeStream = (role: string): string[] => fakeClaude(role, "-p", "x", "--output-format", "stream-json");
