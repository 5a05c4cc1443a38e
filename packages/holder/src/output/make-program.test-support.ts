import { type ChildProcessByStdio, spawn } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { build } from "esbuild";

export type Program = (
  args?: readonly string[],
  env?: NodeJS.ProcessEnv,
) => ChildProcessByStdio<null, Readable, Readable>;

/**
 * Makes a program, to be run as a process of its own, of a few lines of TypeScript that import what they need as if
 * they stood `here`.
 */
export async function makeProgram(here: string, folder: string, source: string): Promise<Program> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: here, loader: "ts" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    // Code that still calls require() finds none in an ES module.
    banner: { js: 'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);' },
    external: ["@lydell/node-pty"],
    write: false,
  });
  const file = join(folder, "program.mjs");
  writeFileSync(file, outputFiles[0]?.contents ?? "");
  symlinkSync(resolve(import.meta.dirname, "../../../../node_modules"), join(folder, "node_modules"));
  return (args = [], env = process.env) =>
    spawn(process.execPath, [file, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
}
