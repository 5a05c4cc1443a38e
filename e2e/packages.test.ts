import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { importsOf } from "../scripts/tidy-rules.ts";
import { cleanUp } from "./clean-up.ts";
import { pack, published, readManifest, run, runExample } from "./published-packages.ts";
import { repository } from "./run-rouse.ts";
import { startDaemon } from "./start-daemon.ts";

// That they can be installed and used is tried by packages.long.ts, which needs npm's registry.

const shipped: Record<string, readonly string[]> = {};
const filesOf = (folder: string): readonly string[] => shipped[folder] ?? [];

beforeAll(async () => {
  await run(process.execPath, [join("scripts", "build.mjs")]);
  const packed = await pack("--dry-run", "--ignore-scripts");
  published.forEach((folder, i) => {
    shipped[folder] = packed[i]?.files ?? [];
  });
});
afterEach(cleanUp);

const namesIn = (folder: string): string[] =>
  existsSync(join(repository, folder))
    ? readdirSync(join(repository, folder), { recursive: true, encoding: "utf8" })
    : [];

/** Declarations of its sources and what was bundled of them; of the daemon's declarations only what can be reached. */
function belongings(folder: string): string[] {
  const sources = namesIn(join(folder, "src")).filter((name) => /^[^.]+\.ts$/.test(name));
  const typed = folder === "packages/daemon" ? ["index.ts", "open-rouse.ts"] : sources;
  return [
    "LICENSE",
    "README.md",
    "package.json",
    ...namesIn(join(folder, "bin")).map((name) => `bin/${name}`),
    ...namesIn(join(folder, "dist"))
      .filter((name) => /^[^/]+\.js$/.test(name))
      .map((name) => `dist/${name}`),
    ...(folder === "packages/daemon" ? ["dist/licenses.txt"] : []),
    ...typed.map((name) => `dist/types/${name.replace(/ts$/, "d.ts")}`),
  ];
}

const pathsIn = (value: unknown): string[] =>
  typeof value === "object" && value !== null
    ? Object.values(value).flatMap(pathsIn)
    : typeof value === "string" && value.startsWith("./")
      ? [value.slice("./".length)]
      : [];

describe.each(published)("what is published of %s", (folder) => {
  it("is what belongs there, and nothing else", () => {
    expect([...filesOf(folder)].sort()).toEqual(belongings(folder).sort());
  });

  it("has every file that its package.json names", () => {
    const paths = pathsIn(readManifest(folder));
    expect(paths).not.toEqual([]);
    expect(filesOf(folder)).toEqual(expect.arrayContaining(paths));
  });

  it("has types that import only what comes with it", () => {
    const types = filesOf(folder).filter((path) => path.endsWith(".d.ts"));
    const imported = types.flatMap((path) =>
      importsOf({ path, text: readFileSync(join(repository, folder, path), "utf8") }),
    );
    const [own, others] = [imported.filter(isFile), imported.filter((name) => !isFile(name))];
    expect(filesOf(folder)).toEqual(expect.arrayContaining(own.map((path) => path.replace(/(?<!\.d)\.ts$/, ".d.ts"))));
    expect(Object.keys(readManifest(folder).dependencies)).toEqual(expect.arrayContaining(others));
  });

  it("says what it is, whose it is and what it needs", () => {
    const manifest = readManifest(folder);
    expect(manifest).toMatchObject({ license: "MIT", engines: { node: ">=20.19.0" } });
    expect(manifest.private).toBeUndefined();
    expect(manifest.description).toMatch(/\w/);
    expect(manifest.keywords.length).toBeGreaterThan(3);
    expect(read(folder, "LICENSE")).toBe(read(".", "LICENSE"));
    expect(read(folder, "README.md")).toMatch(new RegExp(`^# ${manifest.name}\n`));
  });

  it("depends on others of the same version, and on none that is not published", () => {
    const manifest = readManifest(folder);
    const versions = Object.fromEntries(published.map(readManifest).map(({ name, version }) => [name, version]));
    const ours = Object.entries(manifest.dependencies).filter(([name]) => /^(?:@rouse\/|rouse$)/.test(name));
    for (const [name, version] of ours) expect({ name, version }).toEqual({ name, version: versions[name] });
    expect(manifest.version).toBe(versions["rouse"]);
  });

  it("is built before it is packed", () => {
    expect(posix.join(folder, readManifest(folder).scripts["prepack"]?.replace(/^node /, "") ?? "")).toBe(
      "scripts/build.mjs",
    );
  });
});

describe("what is bundled", () => {
  it("brings the terms along under which it may be", () => {
    const text = read("packages/daemon", "dist/licenses.txt");
    for (const name of ["@xterm/headless", "commander", "yaml", "zod"])
      expect(text).toMatch(new RegExp(`^${name} \\d.* · (MIT|ISC|Apache-2.0)`, "m"));
    expect(text).toContain("Permission is hereby granted");
  });
});

describe("in a clone that was started once", () => {
  it("programs can use the libraries as their READMEs say", async () => {
    const { url, token } = await startDaemon();
    const client = await runExample("packages/sdk", {
      cwd: repository,
      env: { ...process.env, ROUSE_URL: url, ROUSE_TOKEN: token },
    });
    expect(client.stdout).toBe("the beat was accepted\nworker-2 is HEALTHY\n");
    const words = await runExample("packages/contract", { cwd: repository });
    expect(words.stdout).toBe("true\n");
  });
});

const isFile = (imported: string): boolean => imported.startsWith("dist/");
const read = (folder: string, name: string): string => readFileSync(join(repository, folder, name), "utf8");
