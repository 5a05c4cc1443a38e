// npm test [-- vitest arguments]: everything the tests need, then the tests.
import { existsSync } from "node:fs";
import { ensureBuilt } from "./ensure-built.mjs";
import { ensureDebian } from "./ensure-debian.mjs";
import { ensureInstalled } from "./ensure-installed.mjs";
import { inRepository } from "./repository.mjs";
import { becomeNode, programs } from "./run-program.mjs";

await ensureInstalled();
await ensureBuilt();
ensureDebian();
if (!existsSync(inRepository("..", "shared"))) {
  console.error("rouse: THE DATA FOLDER ../shared IS ABSENT: tests that need it are SKIPPED, all others run.");
}
becomeNode([programs.vitest, "run", ...process.argv.slice(2)]);
