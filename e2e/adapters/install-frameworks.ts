import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../run-rouse.ts";
import { cacheFolder, type FrameworkName, frameworks, node22 } from "./frameworks.ts";

export type Installed = { readonly folder: string } | { readonly missing: string };

/** Puts packages into the cache, unless they are there, and says what came of it. */
function install(name: string, packages: readonly string[]): Installed {
  const folder = join(cacheFolder(), name);
  if (packages.every((wanted) => isThere(folder, wanted))) return { folder };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"private":true,"type":"module"}\n');
  console.log(`installing ${packages.join(", ")} into ${folder} …`);
  // npm reckons for minutes over optional peers that nobody here uses; without them it takes seconds.
  const words = [
    "install",
    "--no-save",
    "--legacy-peer-deps",
    "--force",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
  ];
  const { status, stderr } = spawnSync("npm", [...words, ...packages], {
    cwd: folder,
    encoding: "utf8",
    timeout: 600_000,
  });
  if (status === 0) return { folder };
  const [why = "it did not say why"] = (stderr ?? "").split("\n").filter((line) => line.startsWith("npm error"));
  return { missing: `npm could not install it: ${why}` };
}

function isThere(folder: string, wanted: string): boolean {
  const at = wanted.lastIndexOf("@");
  const manifest = join(folder, "node_modules", wanted.slice(0, at), "package.json");
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).version === wanted.slice(at + 1);
}

export const installFramework = (name: FrameworkName): Installed => install(name, frameworks[name].packages);

/** The Node that runs the programs. */
export function installNode(): Installed {
  if (process.platform !== "linux" || process.arch !== "x64") return { folder: process.execPath };
  const installed = install("node-22", node22.packages);
  return "missing" in installed ? installed : { folder: join(installed.folder, node22.file) };
}

/** A folder where the programs find the framework as it was installed, and the SDK as it was built. */
export function layOut(folder: string, { folder: cache }: { readonly folder: string }): void {
  cpSync(join(import.meta.dirname, "programs"), folder, { recursive: true });
  mkdirSync(join(folder, "node_modules"));
  for (const name of readdirSync(join(cache, "node_modules")).filter((name) => !name.startsWith(".")))
    symlinkSync(join(cache, "node_modules", name), join(folder, "node_modules", name));
  symlinkSync(join(repository, "node_modules", "@rouse"), join(folder, "node_modules", "@rouse"));
}
