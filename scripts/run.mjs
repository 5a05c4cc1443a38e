// node scripts/run.mjs FILE [arguments]: bundles one TypeScript file and runs it (npm run sim, npm run bench).
import { existsSync } from "node:fs";
import { join } from "node:path";
import { bundle } from "./bundle.mjs";
import { ensureBuilt, threads } from "./ensure-built.mjs";
import { cacheFolder, giveUp, inRepository } from "./repository.mjs";
import { becomeNode } from "./run-program.mjs";

const [file, ...args] = process.argv.slice(2);
if (file === undefined) giveUp("say which file to run: node scripts/run.mjs FILE [arguments].");
if (!existsSync(inRepository(file))) giveUp(`there is no ${file}.`);

await ensureBuilt();
const name = file.replace(/\.ts$/, "").replaceAll(/[\\/]/g, "-");
await bundle({ [name]: file, ...threads }, cacheFolder).catch((error) =>
  giveUp(`cannot build ${file}: ${error.message}`),
);
becomeNode(["--enable-source-maps", join(cacheFolder, `${name}.js`), ...args]);
