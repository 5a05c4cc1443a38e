import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, it, onTestFinished } from "vitest";
import { tools } from "../packages/daemon/src/mcp/tools.ts";
import { version } from "../packages/daemon/src/version.ts";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { program, repository } from "./run-rouse.ts";

const run = promisify(execFile);
const plugin = join(repository, "plugin");
const read = (name: string): string => readFileSync(join(plugin, name), "utf8");

/** Where `npm run test:agents` keeps the real programs. */
const cache = process.env["ROUSE_AGENTS_CACHE"] ?? join(process.env["HOME"] ?? "/tmp", ".cache", "rouse-agents");
const claude = join(
  cache,
  `clis/claude/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
);
const isThere = existsSync(claude);
if (!isThere)
  console.warn(`the plugin is not tried with the real program: there is no ${claude} (npm run test:agents)`);

afterEach(cleanUp);

it("the plugin is of this version, starts `rouse mcp`, and its skill names tools that there are", () => {
  expect(JSON.parse(read(".claude-plugin/plugin.json"))).toMatchObject({ name: "rouse", version });
  expect(JSON.parse(read(".mcp.json"))).toEqual({ mcpServers: { rouse: { command: "rouse", args: ["mcp"] } } });
  const named = [...read("skills/watch-workers/SKILL.md").matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, name]) => name);
  const known = [...tools.map(({ name }) => name), "allow_more_time", "force_handoff", "terminate_and_recover"];
  expect(named.filter((name) => !known.includes(name ?? ""))).toEqual([]);
  expect(named).toContain("decide_escalation");
});

/** Settings of its own, and a model that lets nobody in: what is wanted is known before the first question to it. */
async function surroundings(): Promise<NodeJS.ProcessEnv & { folder: string }> {
  const model = createServer((_, response) =>
    response.writeHead(401, { "content-type": "application/json" }).end("{}"),
  );
  await new Promise<void>((resolve) => model.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void model.close());
  const folder = makeFolder();
  const settings = join(folder, "settings");
  mkdirSync(settings);
  const key = "sk-ant-api03-none-of-this-is-a-key-0123456789";
  const customApiKeyResponses = { approved: [key.slice(-20)], rejected: [] };
  writeFileSync(
    join(settings, ".claude.json"),
    JSON.stringify({ hasCompletedOnboarding: true, customApiKeyResponses }),
  );
  symlinkSync(program, join(folder, "rouse"));
  return {
    folder,
    PATH: `${folder}:${process.env["PATH"]}`,
    HOME: folder,
    ROUSE_HOME: join(folder, "home"),
    CLAUDE_CONFIG_DIR: settings,
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${(model.address() as AddressInfo).port}`,
    ANTHROPIC_API_KEY: key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_MAX_RETRIES: "0",
    DISABLE_AUTOUPDATER: "1",
  };
}

it.skipIf(!isThere)("the plugin passes the real program's own strict check", async () => {
  const { folder, ...env } = await surroundings();
  const { stdout } = await run(claude, ["plugin", "validate", "--strict", plugin], { env, cwd: folder });
  expect(stdout).toContain("Validation passed");
});

it.skipIf(!isThere)(
  "the real program connects to `rouse mcp` through the plugin and has its tools and skill",
  async () => {
    const { folder, ...env } = await surroundings();
    const words = ["-p", "hello", "--plugin-dir", plugin, "--output-format", "stream-json", "--verbose"];
    const { stdout } = await run(claude, words, { env, cwd: folder }).catch((ended: { stdout: string }) => ended);
    const init = JSON.parse(stdout.split("\n").find((line) => line.includes('"subtype":"init"')) ?? "{}");
    expect(init).toMatchObject({
      mcp_servers: [{ name: "plugin:rouse:rouse", status: "connected" }],
      skills: expect.arrayContaining(["rouse:watch-workers"]),
    });
    const prefix = "mcp__plugin_rouse_rouse__";
    const seen = (init.tools as string[])
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length));
    expect(seen.toSorted()).toEqual(tools.map(({ name }) => name).toSorted());
  },
);
