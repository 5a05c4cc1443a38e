import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { repository } from "./run-rouse.ts";

const execute = promisify(execFile);

/** Dependencies before those who depend on them. */
export const published = ["packages/contract", "packages/sdk", "packages/daemon"];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly description: string;
  readonly license: string;
  readonly keywords: readonly string[];
  readonly engines: { readonly node: string };
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

export const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(repository, folder, "package.json"), "utf8"));

/** Runs a program to its end; what it printed is part of the error when it fails. */
export async function run(
  program: string,
  words: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<{ stdout: string; stderr: string }> {
  try {
    return await execute(program, words, { cwd: repository, maxBuffer: 64 * 1024 * 1024, ...options });
  } catch (error) {
    const { message, stdout } = error as { message: string; stdout: string };
    throw new Error(`${message}\n${stdout}`);
  }
}

interface Packed {
  readonly filename: string;
  readonly files: readonly string[];
}

/** What npm would publish, in the order of `published`. */
export async function pack(...options: string[]): Promise<Packed[]> {
  const { stdout } = await run("npm", ["pack", "--json", ...options, ...published.flatMap((folder) => ["-w", folder])]);
  const packed = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  return packed.map(({ filename, files }) => ({ filename, files: files.map(({ path }) => path) }));
}

/** The example in a package's README. */
export function readExample(folder: string): string {
  const text = readFileSync(join(repository, folder, "README.md"), "utf8");
  return /^```js\n(.*?)^```$/ms.exec(text)?.[1] ?? "";
}

export const runExample = (folder: string, surroundings: { cwd: string; env?: NodeJS.ProcessEnv }) =>
  run(process.execPath, ["--input-type=module", "--eval", readExample(folder)], surroundings);
