import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { repository } from "./repository.mjs";

/** npm packages stay outside the bundle; our own (@rouse/*, rouse) and relative files go in. */
const keepPackagesOutside = {
  name: "keep-packages-outside",
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
      if (kind === "entry-point" || /^(@rouse\/|rouse$)/.test(path)) return undefined;
      return { path, external: true };
    });
  },
};

/**
 * Bundles each entry point of `{ output without .js: source }` into an ES module for Node; with `splitting`, what is imported
 * on demand or shared goes into files of its own beside it.
 * Returns the npm packages the outputs import at run time. Each file appears whole or not at all,
 * because another process may be starting from it.
 */
export async function bundle(entryPoints, outdir, { splitting = false } = {}) {
  const { build } = await import("esbuild");
  const result = await build({
    absWorkingDir: repository,
    entryPoints,
    outdir,
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: true,
    splitting,
    chunkNames: "chunk-[hash]",
    conditions: ["source"],
    plugins: [keepPackagesOutside],
    // Code that still calls require() finds none in an ES module.
    banner: { js: 'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);' },
    logLevel: "silent", // the error that is thrown says it all
  });
  for (const { path, contents } of result.outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    const unfinished = `${path}.${process.pid}`;
    writeFileSync(unfinished, contents);
    renameSync(unfinished, path);
  }
  if (splitting) removeOldChunks(outdir, new Set(result.outputFiles.map(({ path }) => basename(path))));
  return packagesImportedBy(result.metafile);
}

function removeOldChunks(outdir, current) {
  for (const name of readdirSync(resolve(repository, outdir))) {
    if (name.startsWith("chunk-") && !current.has(name)) rmSync(resolve(repository, outdir, name), { force: true });
  }
}

function packagesImportedBy(metafile) {
  const imported = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const packages = imported
    .filter(({ path, external }) => external && !path.startsWith("node:"))
    .map(({ path }) => path.split("/", path.startsWith("@") ? 2 : 1).join("/"));
  return [...new Set(packages)];
}
