import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileOf, folderOf, type ProgramName, pinned, programNames } from "./programs.ts";

export type Installed =
  | { readonly name: ProgramName; readonly there: true; readonly version: string }
  | { readonly name: ProgramName; readonly there: false; readonly because: string };

/** Puts the pinned programs into the cache, those that are not there yet, and says of each what came of it. */
export function installPrograms(cache: string, only: readonly ProgramName[] = programNames): Installed[] {
  return only.map((name) => install(cache, name));
}

function install(cache: string, name: ProgramName): Installed {
  const { package: wanted, version } = pinned[name];
  if (versionIn(cache, name) !== version) {
    const folder = folderOf(cache, name);
    mkdirSync(folder, { recursive: true });
    if (!existsSync(join(folder, "package.json"))) writeFileSync(join(folder, "package.json"), '{"private":true}\n');
    console.log(`installing ${wanted}@${version} into ${folder} …`);
    // `--force`: npm refuses what names another Node, and the native programs bring a runtime of their own.
    const words = ["install", "--no-save", "--force", "--no-audit", "--no-fund", `${wanted}@${version}`];
    const { status, stderr } = spawnSync("npm", words, { cwd: folder, encoding: "utf8", timeout: 600_000 });
    if (status !== 0) return { name, there: false, because: `npm could not install it: ${reasonIn(stderr ?? "")}` };
  }
  return tryOut(cache, name);
}

/** What npm left in the cache, whoever put it there. */
function versionIn(cache: string, name: ProgramName): string | null {
  const manifest = join(folderOf(cache, name), "node_modules", pinned[name].package, "package.json");
  if (!existsSync(manifest)) return null;
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version?: string }).version ?? null;
}

function tryOut(cache: string, name: ProgramName): Installed {
  try {
    const said = execFileSync(fileOf(cache, name), ["--version"], {
      encoding: "utf8",
      timeout: 120_000,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const version = /\d+\.\d+\.\d+/.exec(said)?.[0] ?? "unknown";
    const { version: wanted } = pinned[name];
    if (version === wanted) return { name, there: true, version };
    return { name, there: false, because: `it says it is ${version}, and ${wanted} is wanted` };
  } catch (error) {
    return { name, there: false, because: `it does not start: ${(error as Error).message.split("\n")[0]}` };
  }
}

const reasonIn = (stderr: string): string =>
  stderr
    .split("\n")
    .filter((line) => /error/i.test(line))
    .slice(0, 2)
    .join(" ")
    .slice(0, 200) || "it did not say why";
