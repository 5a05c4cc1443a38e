import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { codeOf, importsOf, type SourceFile } from "./tidy-rules.ts";

/** What starts processes, threads or agents or opens a database, and native code that threads cannot share. */
const notForThreads =
  /^(?:node:(?:child_process|worker_threads|cluster)|esbuild|packages\/holder\/src\/load-sqlite\.ts|@rouse\/holder\/[\w-]+|@lydell\/node-pty)$/;

/** Changes that would still be there when the next file begins. */
const outlastsTheFile = [
  /\bvi\s*\.\s*(?:setConfig|mock|doMock|stubEnv|stubGlobal)\b/,
  /\bconfigureGlobal\b/,
  /\bprocess\s*\.\s*(?:chdir|umask|on|once)\b/,
  /\bprocess\s*\.\s*env\s*(?:\.\s*\w+|\[[^\]]*\])?\s*=(?!=)/,
];

const isOnlyForTests = (path: string): boolean => /\.test-support\.ts$|-for-tests\.ts$/.test(path);

/**
 * A test that starts processes, itself or through the code it calls, or that changes what the next file would find,
 * gets a process of its own. All others share one set of modules for each core, because loading the sources takes
 * longer than they do.
 */
export function needsItsOwnProcess(test: SourceFile, read: (path: string) => string): boolean {
  const seen = new Set<string>();
  const open = (path: string): SourceFile => ({ path, text: read(path) });
  const needs = (file: SourceFile): boolean => {
    if (seen.has(file.path)) return false;
    seen.add(file.path);
    const ours = importsOf(file).filter((path) => path.endsWith(".ts"));
    return (
      leavesSomething(codeOf(file.text)) ||
      [file, ...ours.map(open)].some((each) => importsOf(each).some((name) => notForThreads.test(name))) ||
      ours.filter(isOnlyForTests).map(open).some(needs)
    );
  };
  return needs(test);
}

const leavesSomething = (code: string): boolean =>
  outlastsTheFile.some((pattern) => pattern.test(code)) ||
  (/\buseFakeTimers\b/.test(code) && !/\buseRealTimers\b/.test(code));

/** The tests that lie beside the code, by where they run. */
export function testsBesideTheCode(root: string): { sharing: string[]; alone: string[] } {
  // A test may name a file that is not there on purpose.
  const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : "");
  const tests = ["packages", "bench", "scripts"]
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith(".test.ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((path) => !/(?:^|\/)(?:node_modules|dist)\//.test(path));
  const alone = tests.filter((path) => needsItsOwnProcess({ path, text: read(path) }, read));
  return { sharing: ["tidy.test.ts", ...tests.filter((path) => !alone.includes(path))], alone };
}
