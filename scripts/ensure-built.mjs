import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, relative } from "node:path";
import { bundle, packagesOf } from "./bundle.mjs";
import { ensureInstalled } from "./ensure-installed.mjs";
import { giveUp, inRepository, repository } from "./repository.mjs";

const stamp = inRepository("packages", "daemon", "dist", ".build-stamp");
/** Code that runs in a thread of its own; its file lies beside the bundle that starts it. */
export const threads = { "store-sqlite-worker": "packages/daemon/src/adapters/store-sqlite/worker.ts" };
/** The process that holds one agent. It shares no file with the others: loading dozens of files takes longer. */
export const holder = { holder: "packages/holder/src/holder-main.ts" };
/** The agents of `rouse demo`, each started on its own. */
const demo = { "demo-agent": "packages/daemon/src/demo/demo-agent.ts" };
export const entryPoints = {
  main: "packages/daemon/src/main.ts",
  index: "packages/daemon/src/index.ts",
  ...threads,
  ...demo,
};
/** Loading zod from its many files takes Node four times as long as loading what we use of it from one. */
export const splitUp = {
  splitting: true,
  inside: ["@xterm/addon-serialize", "@xterm/headless", "commander", "yaml", "zod"],
};
/**
 * What both share lies in a file of its own, so that each class exists once. What they use of the contract goes in: its
 * own bundle would bring zod along.
 */
export const sdk = {
  index: "packages/sdk/src/index.ts",
  agent: "packages/sdk/src/agent/index.ts",
  ai: "packages/sdk/src/adapters/ai.ts",
  "claude-agent": "packages/sdk/src/adapters/claude-agent.ts",
  langchain: "packages/sdk/src/adapters/langchain.ts",
  "openai-agents": "packages/sdk/src/adapters/openai-agents.ts",
};
const builds = [
  { folder: "packages/daemon", entryPoints: [entryPoints, holder], options: splitUp },
  { folder: "packages/contract", entryPoints: { index: "packages/contract/src/index.ts" }, options: { library: true } },
  { folder: "packages/sdk", entryPoints: sdk, options: { library: true, splitting: true } },
];

/** Installs what is missing, and bundles what is published into packages/*\/dist when a source has changed. */
export async function ensureBuilt() {
  await ensureInstalled();
  const wanted = hashOfSources();
  if (builds.every(isThere) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;

  rmSync(stamp, { force: true }); // it must not outlive the outputs it stands for
  await Promise.all(builds.map(build));
  writeFileSync(stamp, wanted);
}

const isThere = ({ folder, entryPoints }) =>
  Object.keys(Object.assign({}, ...[entryPoints].flat())).every((name) =>
    existsSync(inRepository(folder, "dist", `${name}.js`)),
  );

async function build({ folder, entryPoints, options }) {
  const missing = [entryPoints]
    .flat()
    .flatMap(Object.values)
    .filter((source) => !existsSync(inRepository(source)));
  if (missing.length > 0) giveUp(`cannot build ${folder} without ${missing.join(", ")}.`);

  const metafiles = await bundle(entryPoints, join(folder, "dist"), options).catch((error) =>
    giveUp(`cannot build ${folder}: ${error.message}`),
  );
  const { dependencies, optionalDependencies = {} } = JSON.parse(
    readFileSync(inRepository(folder, "package.json"), "utf8"),
  );
  const undeclared = metafiles
    .flatMap(packagesOf)
    .filter((name) => !isBuiltin(name) && !(name in dependencies) && !(name in optionalDependencies));
  if (undeclared.length > 0) {
    giveUp(`${folder} imports ${undeclared.join(", ")}, which its package.json does not depend on.`);
  }
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
    inRepository("tsconfig.base.json"),
    inRepository("scripts", "bundle.mjs"),
    inRepository("scripts", "ensure-built.mjs"),
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
