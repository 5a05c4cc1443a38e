import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { inRepository } from "./repository.mjs";

const indexes = {
  "@rouse/contract": "packages/contract/src",
  "@rouse/core": "packages/core/src",
  "@rouse/sdk": "packages/sdk/src",
  "@rouse/holder": "packages/holder/src",
};

/**
 * When a bundle is split, esbuild gives whoever imports one name of an index all that others import from it: `rouse ps` would load what `rouse up` is
 * made of. So an import of the index of one of our packages is turned into imports of the files its names are from.
 */
export const importPastIndex = {
  name: "import-past-index",
  setup(build) {
    const homes = Object.fromEntries(Object.entries(indexes).map(([name, folder]) => [name, readIndex(folder)]));
    build.onLoad({ filter: /\/packages\/[^/]+\/src\/.*\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, "utf8")
        // The name `z` stands for all of zod, used or not; the namespace for what is used.
        .replace(/^import \{ z \} from "zod";/gm, 'import * as z from "zod";')
        .replace(
          /^import \{([^}]*)\} from "(@rouse\/(?:contract|core|sdk|holder))";/gm,
          (statement, names, from) => importsOf(names, homes[from]) + "\n".repeat(statement.split("\n").length - 1),
        );
      return { contents, loader: "ts" };
    });
  },
};

function importsOf(names, homes) {
  return valuesOf(names)
    .map(([name, alias]) => {
      const home = homes.get(name);
      if (home === undefined) throw new Error(`the index does not say where ${name} is from`);
      return `import { ${home.name} as ${alias} } from ${JSON.stringify(home.file)};`;
    })
    .join(" ");
}

/** Types are gone by the time it runs. */
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
