import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, relative } from "node:path";
import { bundle, packagesOf } from "./bundle.mjs";
import { giveUp, inRepository, repository } from "./repository.mjs";

const daemon = inRepository("packages", "daemon");
const outdir = join(daemon, "dist");
const stamp = join(outdir, ".build-stamp");
/** Code that runs in a thread of its own; its file lies beside whatever bundle starts it. */
export const threads = { "store-sqlite-worker": "packages/daemon/src/adapters/store-sqlite/worker.ts" };
/** The process that holds one agent; started on its own, so it must not bring the daemon along. */
const holder = { holder: "packages/daemon/src/holder/holder-main.ts" };
/** The agents of `rouse demo`, each started on its own. */
const demo = { "demo-agent": "packages/daemon/src/demo/demo-agent.ts" };
export const entryPoints = {
  main: "packages/daemon/src/main.ts",
  index: "packages/daemon/src/index.ts",
  ...threads,
  ...holder,
  ...demo,
};

/** Node takes four times as long to load zod from its many files as what we use of it from one. */
export const splitUp = {
  splitting: true,
  inside: ["@xterm/addon-serialize", "@xterm/headless", "commander", "json-canonicalize", "yaml", "zod"],
};

/** Bundles the daemon into packages/daemon/dist when a source changed since the last time; silent either way. */
export async function ensureBuilt() {
  const missing = Object.values(entryPoints).filter((source) => !existsSync(inRepository(source)));
  if (missing.length > 0) giveUp(`cannot build the daemon without ${missing.join(", ")}.`);

  const wanted = hashOfSources();
  const outputs = Object.keys(entryPoints).map((name) => join(outdir, `${name}.js`));
  if (outputs.every(existsSync) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;

  rmSync(stamp, { force: true }); // from here on it would vouch for outputs it does not know
  const metafile = await bundle(entryPoints, outdir, splitUp).catch((error) =>
    giveUp(`cannot build the daemon: ${error.message}`),
  );
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(daemon, "package.json"), "utf8"));
  const undeclared = packagesOf(metafile).filter(
    (name) => !isBuiltin(name) && !(name in dependencies) && !(name in optionalDependencies),
  );
  if (undeclared.length > 0) {
    giveUp(`the daemon imports ${undeclared.join(", ")}, which packages/daemon/package.json does not depend on.`);
  }
  writeFileSync(stamp, wanted);
}

function hashOfSources() {
  const hash = createHash("sha256");
  for (const file of sources())
    hash.update(relative(repository, file)).update("\0").update(readFileSync(file)).update("\0");
  return hash.digest("hex");
}

function sources() {
  const packages = readdirSync(inRepository("packages")).map((name) => inRepository("packages", name));
  return [
    inRepository("package-lock.json"),
    inRepository("scripts", "bundle.mjs"),
    inRepository("scripts", "ensure-built.mjs"),
    inRepository("scripts", "import-past-index.mjs"),
    ...packages.map((folder) => join(folder, "package.json")),
    ...packages.flatMap((folder) => filesUnder(join(folder, "src"))).filter((file) => !file.endsWith(".test.ts")),
  ].filter(existsSync);
}

function filesUnder(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
