import { it } from "vitest";
import { bundleHolder } from "./bundle-holder.test-support.ts";
import { openWorld } from "./holding.test-support.ts";
import { holderFiles } from "./holder-files.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync, readdirSync, readFileSync } from "node:fs";
it("perf", async () => {
  const b = await bundleHolder();
  const w = openWorld(b.holderFile);
  const f = w.files(); mkdirSync(f.folder, {recursive:true});
  writeFileSync(f.spec, JSON.stringify(w.spec(["sh","-c","head -c 50000000 /dev/zero | tr '\\0' x; printf the-end"], { keepBytes: 1_000_000 })));
  const c = spawn(process.execPath, ["--max-semi-space-size=1","--cpu-prof","--cpu-prof-dir=/tmp/hw", new URL(b.holderFile).pathname, f.folder], { stdio: ["ignore","inherit","inherit","pipe"] });
  await once(c, "exit");
  await w.remove(); b.remove();
}, 200000);
