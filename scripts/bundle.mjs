import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { inRepository, repository } from "./repository.mjs";

/**
 * npm packages stay outside the bundle. Relative files and the packages `inside` go in, and our own packages (@rouse/*,
 * rouse) unless it is a library.
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

/** Some bundled code calls require(), which an ES module does not have. */
const forNode = {
  platform: "node",
  sourcemap: true,
  banner: { js: 'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);' },
};

/**
 * Bundles each entry point of `{ output without .js: source }`, or of several such sets that share nothing, into an ES
 * module for Node. With `splitting`, what is imported on demand or shared goes into files of its own. Packages named by
 * `inside` become part of the bundle. A `library` leaves its packages to the program that imports it, and may run in a
 * browser. Returns esbuild's metafile of each set. Each file appears whole or not at all, because another process may
 * be starting from it.
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

/** Removes files of an earlier build, which would be published. */
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

const indexes = {
  "@rouse/contract": "packages/contract/src",
  "@rouse/core": "packages/core/src",
  "@rouse/sdk": "packages/sdk/src",
  "@rouse/holder": "packages/holder/src",
};

/**
 * In a split bundle, a file that imports one name of an index loads all that others import from it: `rouse ps` would
 * load the code of `rouse up`. So an import of one of our indexes is turned into imports of the files its names are
 * from.
 */
const importPastIndex = {
  name: "import-past-index",
  setup(build) {
    const homes = Object.fromEntries(Object.entries(indexes).map(([name, folder]) => [name, readIndex(folder)]));
    build.onLoad({ filter: /\/packages\/[^/]+\/src\/.*\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, "utf8")
        // The name `z` brings all of zod into the bundle, the namespace only what is used.
        .replace(/^import \{ z \} from "zod";/gm, 'import * as z from "zod";')
        .replace(
          /^(import|export) \{([^}]*)\} from "(@rouse\/(?:contract|core|sdk|holder))";/gm,
          (statement, word, names, from) =>
            pastIndex(word, names, homes[from]) + "\n".repeat(statement.split("\n").length - 1),
        );
      return { contents, loader: "ts" };
    });
  },
};

function pastIndex(word, names, homes) {
  return valuesOf(names)
    .map(([name, alias]) => {
      const home = homes.get(name);
      if (home === undefined) throw new Error(`the index does not say where ${name} is from`);
      return `${word} { ${home.name} as ${alias} } from ${JSON.stringify(home.file)};`;
    })
    .join(" ");
}

/** The names without types, which are gone at run time. */
function valuesOf(names) {
  return names
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "" && !one.startsWith("type "))
    .map((one) => one.split(" as "))
    .map(([name, alias = name]) => [name, alias]);
}

/** Which file of a package each name of its index is from. */
function readIndex(folder) {
  const homes = new Map();
  for (const [, names, from] of readSource(folder, "index.ts").matchAll(/^export (\*|\{[^}]*\}) from "(.*)";/gm)) {
    const file = resolve(inRepository(folder), from);
    const values = names === "*" ? namesIn(readSource(folder, from)) : valuesOf(names.slice(1, -1));
    for (const [name, alias] of values) homes.set(alias, { file, name });
  }
  return homes;
}

const namesIn = (text) =>
  [...text.matchAll(/^export (?:async )?(?:const|function\*?|class) (\w+)/gm)].map(([, name]) => [name, name]);

const readSource = (folder, file) => readFileSync(inRepository(folder, file), "utf8");
