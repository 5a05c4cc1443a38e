// npm run build: the daemon's bundles, and JavaScript and declarations of the libraries for publishing.
import { ensureBuilt } from "./ensure-built.mjs";
import { ensureInstalled } from "./ensure-installed.mjs";
import { giveUp } from "./repository.mjs";
import { nodeSucceeds, programs } from "./run-program.mjs";

await ensureInstalled();
await ensureBuilt();
if (!nodeSucceeds([programs.tsc, "-b"])) giveUp("the types do not check; see the errors above.");
