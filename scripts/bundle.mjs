import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { repository } from "./repository.mjs";

/** npm packages stay outside the bundle; relative files go in, and our own packages (@rouse/*, rouse) unless it is a library. */
const keepPackagesOutside = ({ library }) => ({
  name: "keep-packages-outside",
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
      if (kind === "entry-point" || (!library && /^(@rouse\/|rouse$)/.test(path))) return undefined;
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
 * Bundles each entry point of `{ output without .js: source }` into an ES module for Node; with `splitting`, what is imported
 * on demand or shared goes into files of its own beside it. A `library` shares the packages it imports with whoever imports it, and may run in a browser.
 * Returns the npm packages the outputs import at run time. Each file appears whole or not at all,
 * because another process may be starting from it.
 */
export async function bundle(entryPoints, outdir, { splitting = false, library = false } = {}) {
  const { build } = await import("esbuild");
  const result = await build({
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
    plugins: [keepPackagesOutside({ library })],
    ...(library ? { platform: "neutral" } : forNode),
    logLevel: "silent", // the error that is thrown says it all
  });
  for (const { path, contents } of result.outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    const unfinished = `${path}.${process.pid}`;
    writeFileSync(unfinished, contents);
    renameSync(unfinished, path);
  }
  if (splitting || library) removeOldOutputs(outdir, new Set(result.outputFiles.map(({ path }) => basename(path))));
  return packagesImportedBy(result.metafile);
}

/** What an earlier build left would be published. */
function removeOldOutputs(outdir, current) {
  for (const name of readdirSync(resolve(repository, outdir))) {
    if (/\.js(\.map)?$/.test(name) && !current.has(name)) rmSync(resolve(repository, outdir, name), { force: true });
  }
}

function packagesImportedBy(metafile) {
  const imported = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const packages = imported
    .filter(({ path, external }) => external && !path.startsWith("node:"))
    .map(({ path }) => path.split("/", path.startsWith("@") ? 2 : 1).join("/"));
  return [...new Set(packages)];
}
