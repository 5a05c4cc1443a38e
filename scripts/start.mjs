// npm start [-- options]: everything `rouse up` needs, then `rouse up` itself.
import { ensureBuilt } from "./ensure-built.mjs";
import { inRepository } from "./repository.mjs";
import { becomeNode } from "./run-program.mjs";

await ensureBuilt();
becomeNode([inRepository("packages", "daemon", "bin", "rouse.js"), "up", ...process.argv.slice(2)]);
