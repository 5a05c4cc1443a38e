import { isBuiltin } from "node:module";
import type { BuildResult, Metafile } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";

interface Scripts {
  bundleInMemory(entryPoints: object, outdir: string, options: object): Promise<BuildResult>;
  readonly entryPoints: object;
  readonly holder: object;
  readonly splitUp: object;
}

let outputs: Metafile["outputs"];
let ofHolder: Metafile["outputs"];

beforeAll(async () => {
  const load = async (file: string) => (await import(new URL(file, import.meta.url).href)) as Scripts;
  const [{ bundleInMemory }, { entryPoints, holder, splitUp }] = await Promise.all([
    load("./bundle.mjs"),
    load("./ensure-built.mjs"),
  ]);
  const outputsOf = async (set: object) =>
    (await bundleInMemory(set, "packages/daemon/dist", splitUp)).metafile?.outputs ?? {};
  ofHolder = await outputsOf(holder);
  outputs = { ...(await outputsOf(entryPoints)), ...ofHolder };
}, 60_000);

/** The npm packages that are loaded with these sources before anything is done, whether from their own files or from a bundle's. */
function packagesWith(...sources: string[]): string[] {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const visit = (output: string): void => {
    if (seen.has(output)) return;
    seen.add(output);
    const { inputs = {}, imports = [] } = outputs[output] ?? {};
    for (const input of Object.keys(inputs)) if (input.includes("node_modules/")) packages.add(nameIn(input));
    for (const { path, kind, external } of imports) {
      if (kind !== "import-statement") continue;
      if (!external) visit(path);
      else if (!path.startsWith("node:")) packages.add(path);
    }
  };
  for (const source of sources) visit(outputOf(source));
  return [...packages].sort();
}

function outputOf(source: string): string {
  const found = Object.keys(outputs).find((output) => outputs[output]?.entryPoint?.endsWith(source));
  if (found === undefined) throw new Error(`${source} is not loaded by itself`);
  return found;
}

const nameIn = (path: string): string => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? path;

const cli = (file: string) => `packages/daemon/src/cli/${file}`;
const command = (name: string) => ["packages/daemon/src/main.ts", cli("run-cli.ts"), cli(`commands/${name}.ts`)];

// Loading takes most of the time of a short command, and one import too many brings everything along.
describe("what is loaded", () => {
  it("is no package for `rouse --version`, nor for holding an agent", () => {
    expect(packagesWith("packages/daemon/src/main.ts")).toEqual([]);
    expect(packagesWith("packages/holder/src/holder-main.ts")).toEqual([]);
  });

  it("is for a holder, sooner or later, only what it needs", () => {
    const files = Object.values(ofHolder);
    const inside = files.flatMap(({ inputs }) => Object.keys(inputs)).filter((path) => path.includes("node_modules/"));
    const outside = files.flatMap(({ imports }) => imports).filter(({ external }) => external);
    const packages = [...inside.map(nameIn), ...outside.map(({ path }) => path)].filter((name) => !isBuiltin(name));
    expect([...new Set(packages)].sort()).toEqual([
      "@lydell/node-pty",
      "@xterm/addon-serialize",
      "@xterm/headless",
      "re2js",
      "ws",
    ]);
  });

  it("is what reads the command line, and nothing else, for a command that asks and prints", () => {
    expect(packagesWith(...command("agents/ps"))).toEqual(["commander"]);
  });

  it("is no more than what makes its token for starting an agent where nothing is configured", () => {
    const starting = [...command("agents/spawn"), "packages/holder/src/start-holder.ts"];
    expect(packagesWith(...starting)).toEqual(["commander"]);
  });

  it("is found wherever it comes from", () => {
    expect(packagesWith("packages/daemon/src/run-daemon.ts")).toEqual(expect.arrayContaining(["fastify", "zod"]));
  });
});
