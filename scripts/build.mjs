// npm run build: JavaScript and declarations of what is published; each package's `prepack` runs it.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, splitUp } from "./ensure-built.mjs";
import { giveUp, inRepository } from "./repository.mjs";
import { nodeSucceeds, programs } from "./run-program.mjs";

const folders = ["packages/contract", "packages/sdk", "packages/daemon"];

await ensureBuilt();
if (!nodeSucceeds([programs.tsc, "-b", ...folders])) giveUp("the types do not check; see the errors above.");
for (const folder of folders) removeOldTypes(folder);
writeFileSync(inRepository("packages/daemon/dist/licenses.txt"), splitUp.inside.map(licenseOf).join("\n\n"));

/** The compiler leaves the declarations of deleted sources, which would be published. */
function removeOldTypes(folder) {
  const types = inRepository(folder, "dist", "types");
  for (const name of readdirSync(types, { recursive: true })) {
    const source = inRepository(folder, "src", name.replace(/\.d\.ts$/, ".ts"));
    if (name.endsWith(".d.ts") && !existsSync(source)) rmSync(join(types, name));
  }
}

/** A bundled package must bring its license along. */
function licenseOf(name) {
  const folder = inRepository("node_modules", name);
  const { version, license, author } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const by = typeof author === "string" ? author : author?.name;
  const head = [`${name} ${version}`, license, by].filter(Boolean).join(" · ");
  return file === undefined ? head : `${head}\n\n${readFileSync(join(folder, file), "utf8").trim()}`;
}
