import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

export interface BundledStore {
  readonly workerFile: URL;
  /** The port's side, for other processes to import. */
  readonly storeFile: URL;
  remove(): void;
}

/**
 * Threads and child processes cannot run TypeScript, and a test must not pass on an old build: bundles today's sources
 * the way they ship, into a folder from which npm packages are found.
 */
export async function bundleStore(): Promise<BundledStore> {
  const here = fileURLToPath(new URL(".", import.meta.url));
  const cache = fileURLToPath(new URL("../../../../../node_modules/.cache/rouse/", import.meta.url));
  mkdirSync(cache, { recursive: true });
  const outdir = mkdtempSync(join(cache, "store-sqlite-"));
  await build({
    entryPoints: { store: join(here, "open-sqlite-store.ts"), "store-sqlite-worker": join(here, "worker.ts") },
    outdir,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["zod"],
    logLevel: "silent",
  });
  return {
    workerFile: pathToFileURL(join(outdir, "store-sqlite-worker.js")),
    storeFile: pathToFileURL(join(outdir, "store.js")),
    remove: () => rmSync(outdir, { recursive: true, force: true }),
  };
}
