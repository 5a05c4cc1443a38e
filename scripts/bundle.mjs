import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { importPastIndex } from "./import-past-index.mjs";
import { repository } from "./repository.mjs";

/**
 * npm packages stay outside the bundle; relative files and the packages `inside` go in, and our own packages (@rouse/*, rouse) unless it is a library.
 */
const keepPackagesOutside = ({ library, inside }) => ({
  name: "keep-packages-outside",
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, ({ path, kind, importer }) => {
      if (kind === "entry-point" || (!library && /^(@rouse\/|rouse$)/.test(path))) return undefined;
      if (inside.includes(nameOfPackage(path)) || importer.includes("/node_modules/")) return undefined;
      return { path, external: true };
    });
  },
});

/** Code that still calls require() finds none in an ES module. */
const forNode = {
  platform: "node",
  sourcemap: true,
  banner: { js: 'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);' },
};

/**
 * Bundles each entry point of `{ output without .js: source }`, or of several such sets that share nothing, into an ES module for Node; with `splitting`, what
 * is imported on demand or shared goes into files of its own beside it. Packages named by `inside` become part of it. A `library` shares the packages it imports with
 * whoever imports it, and may run in a browser.
 * Returns what esbuild tells of the outputs of each set. Each file appears whole or not at all, because another process may be starting from it.
 */
export async function bundle(entryPoints, outdir, options = {}) {
  const built = await Promise.all([entryPoints].flat().map((set) => bundleInMemory(set, outdir, options)));
  const outputFiles = built.flatMap((one) => one.outputFiles);
  for (const { path, contents } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    const unfinished = `${path}.${process.pid}`;
    writeFileSync(unfinished, contents);
    renameSync(unfinished, path);
  }
  const { splitting = false, library = false } = options;
  if (splitting || library) removeOldOutputs(outdir, new Set(outputFiles.map(({ path }) => basename(path))));
  return built.map(({ metafile }) => metafile);
}

export async function bundleInMemory(entryPoints, outdir, { splitting = false, inside = [], library = false } = {}) {
  const { build } = await import("esbuild");
  return build({
    absWorkingDir: repository,
    entryPoints,
    outdir,
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "node20",
    splitting,
    chunkNames: "chunk-[hash]",
    plugins: [...(splitting ? [importPastIndex] : []), keepPackagesOutside({ library, inside })],
    ...(library ? { platform: "neutral" } : forNode),
    logLevel: "silent", // the error that is thrown says it all
  });
}

/** What an earlier build left would be published. */
function removeOldOutputs(outdir, current) {
  for (const name of readdirSync(resolve(repository, outdir))) {
    if (/\.js(\.map)?$/.test(name) && !current.has(name)) rmSync(resolve(repository, outdir, name), { force: true });
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
