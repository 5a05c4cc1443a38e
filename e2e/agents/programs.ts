import { join } from "node:path";

export const programNames = ["claude", "codex", "opencode", "gemini"] as const;
export type ProgramName = (typeof programNames)[number];

/**
 * How a program is started. `stream`: once, with its stream of JSON; `plain`: once, printing text; `spawn`: its full
 * screen under `rouse spawn`; `run`: its full screen under `rouse run`, in somebody's terminal.
 */
export const modes = ["stream", "plain", "spawn", "run"] as const;
export type Mode = (typeof modes)[number];

export interface Pinned {
  readonly title: string;
  /** The npm package; the two native ones have one for each platform. */
  readonly package: string;
  readonly version: string;
  /** The program's file, below node_modules. */
  readonly file: string;
}

const platform = `${process.platform}-${process.arch}`;

/** What is installed: exactly these, so that what the table says can be repeated. */
export const pinned: Readonly<Record<ProgramName, Pinned>> = {
  claude: {
    title: "Claude Code",
    package: `@anthropic-ai/claude-code-${platform}`,
    version: "2.1.325",
    file: `@anthropic-ai/claude-code-${platform}/claude`,
  },
  codex: { title: "Codex", package: "@openai/codex", version: "0.166.0", file: ".bin/codex" },
  opencode: {
    title: "opencode",
    package: `opencode-${platform}`,
    version: "1.18.33",
    file: `opencode-${platform}/bin/opencode`,
  },
  gemini: { title: "Gemini CLI", package: "@google/gemini-cli", version: "0.61.0", file: ".bin/gemini" },
};

/** Where programs are kept, each in a folder of its own; about 1 GB. */
export const cacheOf = (environment: NodeJS.ProcessEnv): string =>
  environment["ROUSE_AGENTS_CACHE"] ?? join(environment["HOME"] ?? "/tmp", ".cache", "rouse-agents");

export const folderOf = (cache: string, name: ProgramName): string => join(cache, "clis", name);
export const fileOf = (cache: string, name: ProgramName): string =>
  join(folderOf(cache, name), "node_modules", pinned[name].file);
