import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { pack, published, readExample, run, runExample } from "./published-packages.ts";
import { repository, startProgram } from "./run-rouse.ts";
import { until } from "./until.ts";

// Part of `npm run test:long`, because it installs the packages as somebody else would, from npm's registry.

const strictProgram = `
import { Heartbeat } from "@rouse/contract";
import { connectRouse, type RouseClient } from "@rouse/sdk";
import { type EmbeddedRouse, Fault, openRouse } from "rouse";

const embedded: EmbeddedRouse = await openRouse({ home: "./rouse-data", config: "preset: fleet" });
const client: RouseClient = connectRouse({ url: "http://127.0.0.1:7433", token: "a-token" });
for (const rouse of [embedded, client]) {
  const { state } = await rouse.getAgentHealth("worker");
  const { outcome } = await rouse.decide("worker.1", { decision: "force_handoff" });
  // @ts-expect-error: were the types not found, they would allow everything
  const wrong: number = [state, outcome];
  console.log(wrong);
}
try {
  // @ts-expect-error: an agent has a name
  await client.recordHeartbeat({ agentId: 7 });
} catch (error) {
  if (error instanceof Fault) console.log(error.code);
}
const agentId: string = Heartbeat.parse({}).agentId;
console.log(agentId);
`;

let app = "";
let printedByNpm = "";

beforeAll(async () => {
  const folder = makeFolder();
  const packed = await pack("--pack-destination", folder);
  app = join(folder, "app");
  mkdirSync(app);
  writeFileSync(join(app, "package.json"), '{"private":true,"type":"module"}\n');
  const words = ["install", "--no-audit", "--no-fund", "@types/node@20"];
  const { stdout, stderr } = await run("npm", [...words, ...packed.map(({ filename }) => join(folder, filename))], {
    cwd: app,
  });
  printedByNpm = stdout + stderr;
}, 300_000);
afterAll(cleanUp);

describe("in an empty folder the packages", () => {
  it("install without a word about the age of Node", () => {
    expect(printedByNpm).not.toMatch(/EBADENGINE|unsupported engine|deprecated/i);
  });

  it.each([
    { module: "nodenext", moduleResolution: "nodenext" },
    { module: "esnext", moduleResolution: "bundler" },
  ])("type-check with a strict program, their own declarations included: $moduleResolution", async (how) => {
    const compilerOptions = {
      ...how,
      target: "es2023",
      lib: ["es2023"],
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      noEmit: true,
    };
    writeFileSync(join(app, "strict.ts"), strictProgram);
    published.forEach((folder, i) => {
      writeFileSync(join(app, `example-${i}.ts`), readExample(folder));
    });
    writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    const tsc = join(repository, "node_modules", "typescript", "bin", "tsc");
    await run(process.execPath, [tsc, "-p", app]);
  });

  it("run the monitor, list agents, and do what their READMEs show", async () => {
    const home = join(app, "home");
    const rouse = (...words: string[]) => startProgram(join(app, "node_modules", ".bin", "rouse"), words, { home });
    const monitor = rouse("up", "--port", "0");
    const url = await until("it says where it listens", () => /is watching on (\S+)/.exec(monitor.stdout())?.[1]);
    expect((await rouse("ps").ended).stdout).not.toContain("worker-2");

    const token = readFileSync(join(home, "token"), "utf8").trim();
    const env = { ...process.env, ROUSE_URL: url, ROUSE_TOKEN: token };
    const client = await runExample("packages/sdk", { cwd: app, env });
    expect(client.stdout).toBe("the beat was accepted\nworker-2 is HEALTHY\n");
    const listed = await rouse("ps").ended;
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(listed.stdout).toMatch(/^worker-2 +HEALTHY/m);

    const embedded = await runExample("packages/daemon", { cwd: app });
    expect(embedded.stdout).toMatch(/^AGENT_REGISTERED$(?:.|\n)*^worker-1 is HEALTHY$/m);
    expect(embedded.stderr).toBe("");
    expect((await runExample("packages/contract", { cwd: app })).stdout).toBe("true\n");
  });
});
