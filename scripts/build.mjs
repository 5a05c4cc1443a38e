// npm run build: JavaScript and declarations of what is published; each package's `prepack` runs it.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt } from "./ensure-built.mjs";
import { ensureInstalled } from "./ensure-installed.mjs";
import { giveUp, inRepository } from "./repository.mjs";
import { nodeSucceeds, programs } from "./run-program.mjs";

const folders = ["packages/contract", "packages/sdk", "packages/daemon"];

await ensureInstalled();
await ensureBuilt();
if (!nodeSucceeds([programs.tsc, "-b", ...folders])) giveUp("the types do not check; see the errors above.");
for (const folder of folders) removeOldTypes(folder);

/** The compiler leaves the declarations of a source that is gone, and they would be published. */
function removeOldTypes(folder) {
  const types = inRepository(folder, "dist", "types");
  for (const name of readdirSync(types, { recursive: true })) {
    const source = inRepository(folder, "src", name.replace(/\.d\.ts$/, ".ts"));
    if (name.endsWith(".d.ts") && !existsSync(source)) rmSync(join(types, name));
  }
}
