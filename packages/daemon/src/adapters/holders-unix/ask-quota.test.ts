import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentFamily, minutes } from "@rouse/contract";
import { readProcess } from "@rouse/holder";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { until } from "../../../../holder/src/holding.test-support.ts";
import { type AskedProgram, askQuota } from "./ask-quota.ts";
import { codexSays, makeQuota, type Plays } from "./make-quota.test-support.ts";

vi.setConfig({ testTimeout: 60_000 });

let folder: string;
let made: ReturnType<typeof makeQuota>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-quota-"));
  made = makeQuota(folder);
});
afterEach(() => rmSync(folder, { recursive: true }));

const started = (family: AgentFamily, plays: Plays, ...command: string[]): AskedProgram => ({
  family,
  command,
  cwd: folder,
  env: { ...made.environment(plays), ROUSE_TOKEN: "secret", OTHER: "kept" },
});
const codex = (plays: Plays, ...args: string[]) => askQuota(started("codex", plays, "codex", "exec", ...args));
const claude = (plays: Plays, ...args: string[]) => askQuota(started("claude-code", plays, "claude", ...args));

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;
const unknown = (because: string) => ({ kind: "unknown", because });
const resetsIn = (seconds: number) => ({ kind: "used-up", resetsInMs: expect.closeTo(seconds * 1000, -4.5) });

describe("Codex", () => {
  it("says that its quota is used up, and until when", async () => {
    expect(await codex(codexSays(100, inSeconds(7200)))).toEqual(resetsIn(7200));
    expect(made.asked().args).toEqual(["app-server"]);
  });

  it("says that it may be used: by its word, or by windows that are not full", async () => {
    expect(await codex(codexSays(12, inSeconds(7200)))).toEqual({ kind: "free" });
    expect(await codex(codexSays(100, inSeconds(7200), { ordinaryUsageAllowed: true }))).toEqual({ kind: "free" });
  });

  it("may refuse and name no window that is full: then nobody knows for how long", async () => {
    const refused = { ordinaryUsageAllowed: false };
    expect(await codex(codexSays(12, inSeconds(60), refused))).toEqual({ kind: "used-up", resetsInMs: null });
    expect(await codex(codexSays(100, null))).toEqual({ kind: "used-up", resetsInMs: null });
  });

  it("has to wait for the later of two windows that are full", async () => {
    const [primary, secondary] = [3600, 86_400].map((s) => ({ usedPercent: 100, resetsAt: inSeconds(s) }));
    expect(await codex(codexSays(0, null, { rateLimits: { primary, secondary } }))).toEqual(resetsIn(86_400));
  });

  it("with credits goes on all the same", async () => {
    const primary = { usedPercent: 100, resetsAt: inSeconds(60) };
    const credits = { hasCredits: true, unlimited: false, balance: "5" };
    expect(await codex(codexSays(0, null, { rateLimits: { primary, credits } }))).toEqual(unknown("pays-for-more"));
  });

  it("with a provider of its own is not judged by the login that lies beside it", async () => {
    const { replies } = codexSays(100, inSeconds(7200));
    const own = { ...replies, 2: { result: { authMethod: null, authToken: null, requiresOpenaiAuth: false } } };
    expect(await codex({ replies: own })).toEqual(unknown("another-account"));
    for (const args of [["--oss"], ["-p", "work"], ["--profile=work"], ["-c", "model_provider=mine"]])
      expect(await codex({ replies }, ...args)).toEqual(unknown("another-account"));
  });

  it("without a login refuses", async () => {
    const { replies } = codexSays(100, inSeconds(7200));
    const error = { code: -32600, message: "codex account authentication required to read rate limits" };
    expect(await codex({ replies: { ...replies, 3: { error } } })).toEqual(unknown("no-answer"));
  });
});

describe("Claude Code", () => {
  const iso = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString();
  const says = (five_hour: unknown, more: object = {}): Plays => ({
    first: '{"type":"system","subtype":"ui_invalidate"}\n',
    usage: { rate_limits_available: true, rate_limits: { five_hour, seven_day: null, ...more }, behaviors: null },
  });

  it("says that its quota is used up, and until when", async () => {
    expect(await claude(says({ utilization: 100, resets_at: iso(600) }))).toEqual(resetsIn(600));
    expect(made.asked().args).toEqual(expect.arrayContaining(["--safe-mode", "--no-session-persistence"]));
  });

  it("says that it may be used", async () => {
    expect(await claude(says({ utilization: 40, resets_at: iso(600) }))).toEqual({ kind: "free" });
  });

  it("whose owner pays for more than the quota goes on with that, until it is used up as well", async () => {
    const full = { utilization: 100, resets_at: iso(600) };
    const pays = (utilization: number | null) => says(full, { extra_usage: { is_enabled: true, utilization } });
    expect(await claude(pays(20))).toEqual(unknown("pays-for-more"));
    expect(await claude(pays(100))).toEqual(resetsIn(600));
  });

  it("cannot say it to whoever pays by a key", async () => {
    const usage = { subscription_type: null, rate_limits_available: false, rate_limits: null };
    expect(await claude({ usage })).toEqual(unknown("another-account"));
    for (const arg of ["--bare", "--settings=x.json"])
      expect(await claude(says(null), arg)).toEqual(unknown("another-account"));
  });

  it("that could not ask its provider says nothing", async () => {
    expect(await claude({ usage: { rate_limits_available: true, rate_limits: null } })).toEqual(unknown("no-answer"));
  });

  it.each(["no date", "9999999999999999", "-000001-01-01T00:00:00Z"])(
    "is not believed that it resets at %s",
    async (at) => {
      expect(await claude(says({ utilization: 100, resets_at: at }))).toEqual(unknown("nonsense"));
    },
  );
});

describe("what nobody can conclude anything from", () => {
  const year3000 = Date.UTC(3000, 0) / 1000;

  it.each([
    ["a reset in the year 3000", year3000],
    ["a reset before time began", -5],
    ["a reset an hour ago", Math.floor(Date.now() / 1000) - 3600],
    ["a reset in words", "soon"],
    ["a reset that is no number JSON has", "1e999"],
  ])("is %s", async (_, resetsAt) => {
    expect(await codex(codexSays(100, resetsAt))).toEqual(unknown("nonsense"));
  });

  it("is another shape", async () => {
    const { replies } = codexSays(100, inSeconds(60));
    for (const result of [{}, [], "x", { rateLimits: null }, { rateLimits: { primary: { usedPercent: "100" } } }])
      expect(await codex({ replies: { ...replies, 3: { result } } })).toEqual(unknown("nonsense"));
  });

  it("is a line without an end", async () => {
    expect(await codex({ long: 3_000_000, stays: true })).toEqual(unknown("nonsense"));
  });

  it.each(["\n", "1\n", '{"id":1}\n'])("is %j over and over, of which only so much is looked at", async (text) => {
    const parse = vi.spyOn(JSON, "parse");
    try {
      const repeats = { text, times: Math.floor((1024 * 1024 - 2000) / text.length) };
      expect(await codex({ ...codexSays(12, null), repeats })).toEqual(unknown("nonsense"));
      expect(parse.mock.calls.length).toBeLessThanOrEqual(2000);
    } finally {
      parse.mockRestore();
    }
  });

  it("are lines that are none of the protocol, before an answer that is", async () => {
    const first = 'WARNING: hm\n\n{"id":3\n[1,2]\nnull\n{"id":"3","result":1}\n{"method":"x"}\n';
    expect(await codex({ ...codexSays(100, inSeconds(60)), first })).toEqual(resetsIn(60));
  });

  it("is a program that ends at once, or is not there", async () => {
    expect(await codex({ dies: true })).toEqual(unknown("no-answer"));
    rmSync(made.fileOf("codex"));
    expect(await codex({})).toEqual(unknown("no-answer"));
  });

  it.each<[AgentFamily, string[], string]>([
    ["opencode", ["opencode", "run", "x"], "no-way"],
    ["gemini-cli", ["gemini", "-p", "x"], "no-way"],
    ["codex", ["npx", "codex", "exec", "x"], "started-otherwise"],
    ["claude-code", ["sh", "-c", "claude -p x"], "started-otherwise"],
    ["codex", [], "started-otherwise"],
  ])("is %s started as %j", async (family, command, because) => {
    expect(await askQuota(started(family, {}, ...command))).toEqual(unknown(because));
  });
});

describe("whoever was asked", () => {
  const isThere = (pid: number | null): boolean => pid !== null && readProcess(pid) !== null;

  it("and never answers is waited for only so long, and is gone with all it started", async () => {
    const program = started("codex", { stays: true }, made.fileOf("codex"));
    expect(await askQuota(program, { within: 5000 })).toEqual(unknown("no-answer"));
    const { pid, started: child } = made.asked();
    await until(() => !isThere(pid) && !isThere(child), "both are gone");
  });

  it("and does not go after its answer is gone all the same, with all it started", async () => {
    expect(await codex({ ...codexSays(12, null), stays: true })).toEqual({ kind: "free" });
    const { pid, started: child } = made.asked();
    await until(() => !isThere(pid) && !isThere(child), "both are gone");
  });

  it.each([
    ["after its answer", codexSays(12, null), { kind: "free" }],
    ["without an answer", {}, unknown("no-answer")],
  ])("and leaves somebody behind in a session of their own, %s, has them ended too", async (_, says, quota) => {
    const program = started("codex", { ...says, stays: true, daemonizes: true }, "codex");
    expect(await askQuota(program, { within: 5000 })).toEqual(quota);
    const { pid, started: child } = made.asked();
    await until(() => !isThere(pid) && !isThere(child), "both are gone");
  });

  it("and was gone before anybody looked leaves nobody behind either", async () => {
    const program = started("codex", { stays: true, daemonizes: true, dies: true }, "codex");
    expect(await askQuota(program, { within: 3000 })).toEqual(unknown("no-answer"));
    const { started: child } = made.asked();
    await until(() => !isThere(child), "it is gone");
  });

  it("is not waited for by somebody who goes away", async () => {
    const away = new AbortController();
    const program = started("codex", { stays: true }, "codex");
    const answer = askQuota(program, { within: minutes(10), signal: away.signal });
    away.abort();
    expect(await answer).toEqual(unknown("no-answer"));
    expect(await askQuota(program, { within: minutes(10), signal: away.signal })).toEqual(unknown("no-answer"));
  });

  it("is left the time to tidy up after its answer", async () => {
    expect(await codex({ ...codexSays(12, null), tidies: true })).toEqual({ kind: "free" });
    expect(existsSync(join(folder, "tidied"))).toBe(true);
  });

  it("has the environment of the agent, and nothing by which it could speak for it", async () => {
    await codex(codexSays(12, null));
    const { env } = made.asked();
    expect(env).toContain("OTHER");
    // Its own mark, by which nobody speaks.
    expect(env.filter((name) => name.startsWith("ROUSE_"))).toEqual(["ROUSE_MARK"]);
  });
});
