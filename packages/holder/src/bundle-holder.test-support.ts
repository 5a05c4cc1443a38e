import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

export interface BundledHolder {
  readonly holderFile: URL;
  /** `runInForeground`, for other processes to import. */
  readonly runFile: URL;
  /** Packages that are loaded before anything is asked for. */
  readonly loadedAtOnce: readonly string[];
  remove(): void;
}

/**
 * Child processes cannot run TypeScript, and a test must not pass on an old build: bundles today's sources the way they
 * ship, into a folder from which npm packages are found.
 */
export async function bundleHolder(): Promise<BundledHolder> {
  const here = fileURLToPath(new URL(".", import.meta.url));
  const cache = fileURLToPath(new URL("../../../node_modules/.cache/rouse/", import.meta.url));
  mkdirSync(cache, { recursive: true });
  const outdir = mkdtempSync(join(cache, "holder-"));
  const { metafile } = await build({
    entryPoints: { holder: join(here, "holder-main.ts"), run: join(here, "run-in-foreground.ts") },
    outdir,
    bundle: true,
    metafile: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["@lydell/node-pty", "@xterm/headless", "@xterm/addon-serialize", "re2js", "zod", "ws"],
    logLevel: "silent",
  });
  return {
    holderFile: pathToFileURL(join(outdir, "holder.js")),
    runFile: pathToFileURL(join(outdir, "run.js")),
    loadedAtOnce: packagesAtOnce(metafile.outputs, "holder.js"),
    remove: () => rmSync(outdir, { recursive: true, force: true }),
  };
}

type Outputs = Readonly<Record<string, { imports: { path: string; kind: string; external?: boolean }[] }>>;

function packagesAtOnce(outputs: Outputs, name: string): string[] {
  const found = new Set<string>();
  const visit = (file: string): void => {
    for (const { path, kind, external } of outputs[file]?.imports ?? []) {
      if (kind !== "import-statement") continue;
      if (!external) visit(path);
      else if (!path.startsWith("node:")) found.add(path);
    }
  };
  visit(Object.keys(outputs).find((file) => file.endsWith(`/${name}`)) ?? name);
  return [...found];
}
