// npm run test:long [-- vitest arguments]: the weeks of simulation, before a release.
import { ensureBuilt } from "./ensure-built.mjs";
import { becomeNode, programs } from "./run-program.mjs";

await ensureBuilt();
becomeNode([programs.vitest, "run", "--config", "vitest.long.config.ts", ...process.argv.slice(2)]);
