import { gzipSync } from "node:zlib";
import type { BuildResult, Metafile } from "esbuild";
import { expect, it } from "vitest";

interface Scripts {
  bundleInMemory(entryPoints: object, outdir: string, options: object): Promise<BuildResult>;
  readonly sdk: object;
}

const load = async (file: string) => (await import(new URL(file, import.meta.url).href)) as Scripts;

it("what an agent loads to beat is below 15 kB gzipped, and has neither zod nor anything of Node in it", async () => {
  const [{ bundleInMemory }, { sdk }] = await Promise.all([load("./bundle.mjs"), load("./ensure-built.mjs")]);
  const built = await bundleInMemory(sdk, "packages/sdk/dist", { library: true, splitting: true });
  const outputs = built.metafile?.outputs ?? {};
  const entry = Object.keys(outputs).find((path) => path.endsWith("/agent.js")) ?? "";
  const [beating, all] = [
    reached(outputs, entry, ["import-statement"]),
    reached(outputs, entry, ["import-statement", "dynamic-import"]),
  ];
  for (const path of all) expect(outputs[path]?.imports.filter(({ external }) => external)).toEqual([]);

  const { transform } = await import("esbuild");
  const sizeOf = async (paths: ReadonlySet<string>): Promise<number> => {
    const texts = (built.outputFiles ?? [])
      .filter(({ path }) => [...paths].some((one) => path.endsWith(one)))
      .map(({ text }) => text);
    const { code } = await transform(
      texts.join("\n;{}\n").replaceAll(/^(?:import|export) \{[^}]*\}(?: from "[^"]*")?;$/gm, ""),
      { minify: true, format: "esm" },
    );
    return gzipSync(code, { level: 9 }).length;
  };
  const [beats, everything] = [await sizeOf(beating), await sizeOf(all)];
  process.stdout.write(
    `@rouse/sdk/agent, minified and gzipped: ${beats} bytes to beat, ${everything} with checkpoints, steps and digests\n`,
  );
  expect(beats).toBeGreaterThan(1000);
  expect(beats).toBeLessThan(15_000);
}, 60_000);

/** The outputs that are loaded with this one. */
function reached(outputs: Metafile["outputs"], from: string, kinds: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const { path: next, kind, external } of outputs[path]?.imports ?? [])
      if (external !== true && kinds.includes(kind)) visit(next);
  };
  visit(from);
  return seen;
}
