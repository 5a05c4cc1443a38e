import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { importPastIndex } from "./import-past-index.mjs";
import { repository } from "./repository.mjs";

/** npm packages stay outside the bundle; our own (@rouse/*, rouse), relative files and the packages `inside` go in. */
const keepPackagesOutside = (inside) => ({
  name: "keep-packages-outside",
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, ({ path, kind, importer }) => {
      if (kind === "entry-point" || /^(@rouse\/|rouse$)/.test(path)) return undefined;
      if (inside.includes(nameOfPackage(path)) || importer.includes("/node_modules/")) return undefined;
      return { path, external: true };
    });
  },
});

/**
 * Bundles each entry point of `{ output without .js: source }` into an ES module for Node; with `splitting`, what is imported
 * on demand or shared goes into files of its own beside it. Packages named by `inside` become part of it.
 * Returns what esbuild tells of the outputs. Each file appears whole or not at all, because another process may be starting from it.
 */
export async function bundle(entryPoints, outdir, { splitting = false, inside = [] } = {}) {
  const { outputFiles, metafile } = await bundleInMemory(entryPoints, outdir, { splitting, inside });
  for (const { path, contents } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    const unfinished = `${path}.${process.pid}`;
    writeFileSync(unfinished, contents);
    renameSync(unfinished, path);
  }
  if (splitting) removeOldChunks(outdir, new Set(outputFiles.map(({ path }) => basename(path))));
  return metafile;
}

export async function bundleInMemory(entryPoints, outdir, { splitting = false, inside = [] } = {}) {
  const { build } = await import("esbuild");
  return build({
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
    plugins: [...(splitting ? [importPastIndex] : []), keepPackagesOutside(inside)],
    // Code that still calls require() finds none in an ES module.
    banner: { js: 'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);' },
    logLevel: "silent", // the error that is thrown says it all
  });
}

function removeOldChunks(outdir, current) {
  for (const name of readdirSync(resolve(repository, outdir))) {
    if (name.startsWith("chunk-") && !current.has(name)) rmSync(resolve(repository, outdir, name), { force: true });
  }
}

/** The npm packages that the outputs import at run time or have inside. */
export function packagesOf({ inputs, outputs }) {
  const imported = Object.values(outputs)
    .flatMap((output) => output.imports)
    .filter(({ path, external }) => external && !path.startsWith("node:"))
    .map(({ path }) => path);
  const inside = Object.keys(inputs).flatMap((path) => path.split("node_modules/").slice(1));
  return [...new Set([...imported, ...inside].map(nameOfPackage))];
}

const nameOfPackage = (path) => path.split("/", path.startsWith("@") ? 2 : 1).join("/");
