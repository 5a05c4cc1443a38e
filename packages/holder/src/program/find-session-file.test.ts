import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Running } from "./find-running.ts";
import { findOtherFiles, findSessionFile, lastWritten } from "./find-session-file.ts";

let home: string;
let cwd: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "rouse-session-")));
  cwd = join(home, "my.app");
  mkdirSync(cwd);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const startedAt = Date.now() - 60_000;
const iso = (at: number): string => new Date(at).toISOString();
const running = (family: Running["family"], over: Partial<Running> = {}): Running => ({
  family,
  pid: 1,
  startTicks: 1,
  startedAt,
  args: [],
  cwd,
  env: { HOME: home },
  ...over,
});
const hashOf = (folder: string): string => createHash("sha256").update(folder).digest("hex");
const find = (program: Running, session: string | null = null) => findSessionFile(program, session, new Set());

function write(file: string, lines: readonly object[], changedAt = Date.now()): string {
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  utimesSync(file, changedAt / 1000, changedAt / 1000);
  return file;
}

describe("the file of a conversation of Claude Code", () => {
  const claude = (name: string, at: number, changedAt?: number, base = join(home, ".claude")): string =>
    write(
      join(base, "projects", cwd.replace(/[^A-Za-z0-9]/g, "-"), name),
      [{ type: "mode" }, { timestamp: iso(at) }],
      changedAt,
    );

  it("is the one that began after its process did", () => {
    claude("old.jsonl", startedAt - 600_000);
    const file = claude("new.jsonl", startedAt + 1000);
    expect(find(running("claude-code"))).toEqual({ kind: "found", file });
  });

  it("is looked for where its environment says", () => {
    const base = join(home, "elsewhere");
    const file = claude("new.jsonl", startedAt + 1000, undefined, base);
    expect(find(running("claude-code"))).toMatchObject({ kind: "not-found" });
    expect(find(running("claude-code", { env: { HOME: home, CLAUDE_CONFIG_DIR: base } }))).toEqual({
      kind: "found",
      file,
    });
  });

  it("is the one of its session where that is known, also when it began long ago", () => {
    const id = "2ef7cea2-aac9-4878-99ad-d56a5655882a";
    const file = claude(`${id}.jsonl`, startedAt - 600_000);
    claude("another.jsonl", startedAt + 1000);
    expect(find(running("claude-code"), id)).toEqual({ kind: "found", file });
    expect(find(running("claude-code", { args: ["--resume", id] }))).toEqual({ kind: "found", file });
  });

  it("is not guessed among several", () => {
    claude("one.jsonl", startedAt + 1000);
    claude("two.jsonl", startedAt + 2000);
    expect(find(running("claude-code"))).toEqual({ kind: "not-found", because: "others work in the same folder" });
  });

  it("is never that of somebody else where it was told to keep none", () => {
    claude("theirs.jsonl", startedAt + 1000);
    expect(find(running("claude-code", { args: ["-p", "--no-session-persistence"] }))).toEqual({
      kind: "not-found",
      because: "it was told to keep none",
    });
  });
});

describe("a pipe beside the files of conversations", () => {
  const begin = { timestamp: iso(startedAt + 1000), type: "session_meta", payload: { cwd: "" } };
  it.each([
    ["claude-code", () => join(home, ".claude/projects", cwd.replace(/[^A-Za-z0-9]/g, "-")), "a.jsonl", "b.jsonl"],
    ["codex", () => join(home, ".codex/sessions/2026/11/16"), "rollout-a.jsonl", "rollout-b.jsonl"],
    ["gemini-cli", () => join(home, ".gemini/tmp/x/chats"), "session-a.jsonl", "session-b.jsonl"],
  ] as const)("keeps nobody waiting who looks for that of %s", (family, folder, pipe, name) => {
    const main = { startTime: begin.timestamp, kind: "main", projectHash: hashOf(cwd) };
    const file = write(join(folder(), name), [{ ...begin, ...main, payload: { cwd } }]);
    execFileSync("mkfifo", [join(folder(), pipe)]);
    expect(find(running(family))).toEqual({ kind: "found", file });
  });
});

describe("the file of a conversation of Codex", () => {
  const rollout = (name: string, payload: object, at = startedAt + 1000): string =>
    write(join(home, ".codex/sessions/2026/11/16", `rollout-${name}.jsonl`), [
      { timestamp: iso(at), type: "session_meta", payload },
    ]);

  it("is the one that began in its folder after it did, and not one of a helper", () => {
    rollout("a", { cwd: "/elsewhere" });
    rollout("b", { cwd }, startedAt - 60_000);
    rollout("c", { cwd, thread_source: "subagent" });
    const file = rollout("d", { cwd, thread_source: "user" });
    expect(find(running("codex"))).toEqual({ kind: "found", file });
  });

  it("is the one that began in the folder it was told to work in", () => {
    rollout("a", { cwd, thread_source: "user" });
    mkdirSync(join(home, "other"));
    const file = rollout("b", { cwd: join(home, "other"), thread_source: "user" });
    expect(find(running("codex", { args: ["exec", "-C", "../other", "go"] }))).toEqual({ kind: "found", file });
    expect(find(running("codex", { args: [`--cd=${join(home, "other")}`] }))).toEqual({ kind: "found", file });
  });
});

describe("a later conversation of Codex", () => {
  const rollout = (time: string, payload: object, at = startedAt + 1000): string =>
    write(join(home, ".codex/sessions/2026/11/16", `rollout-2026-11-16T${time}-x.jsonl`), [
      { timestamp: iso(at), type: "session_meta", payload: { cwd, originator: "codex-tui", ...payload } },
    ]);

  it("is one that was begun after the one it has, in its folder, by the same kind of program, and by nobody's helper", () => {
    rollout("10-00-00", {});
    const current = rollout("11-00-00", {});
    rollout("12-00-00", { originator: "codex_exec" });
    rollout("12-10-00", { cwd: "/elsewhere" });
    rollout("12-20-00", { thread_source: "subagent" });
    rollout("12-30-00", {}, startedAt - 60_000);
    expect(findOtherFiles(running("codex"), current)).toEqual([]);
    const [next, last] = [rollout("13-00-00", { thread_source: "user" }), rollout("14-00-00", {})];
    expect(findOtherFiles(running("codex"), current)).toEqual([
      { file: next, isLater: true },
      { file: last, isLater: true },
    ]);
  });
});

describe("another conversation of Claude Code", () => {
  const transcript = (n: number, wroteAt: number, entrypoint = "cli", begunAt = startedAt, changedAt?: number) =>
    write(
      join(
        home,
        ".claude/projects",
        cwd.replace(/[^A-Za-z0-9]/g, "-"),
        `0000000${n}-0000-4000-8000-000000000000.jsonl`,
      ),
      [{ timestamp: iso(begunAt), entrypoint }, { timestamp: iso(wroteAt), entrypoint }, { type: "cost-state" }],
      changedAt,
    );
  const others = (over: Partial<Running> = {}) => findOtherFiles(running("claude-code", over), current);
  let current: string;
  beforeEach(() => {
    current = transcript(0, startedAt + 5000);
  });

  it("is later when it went on after the one it has, also when it was begun long before", () => {
    const before = transcript(1, startedAt + 1000);
    const resumed = transcript(2, startedAt + 9000, "cli", startedAt - 1e9);
    const cleared = transcript(3, startedAt + 7000);
    expect(others()).toEqual([
      { file: before, isLater: false },
      { file: cleared, isLater: true },
      { file: resumed, isLater: true },
    ]);
    expect(lastWritten(current)).toBe(startedAt + 5000);
    expect(lastWritten(join(home, "nowhere"))).toBeNull();
  });

  it("is not its own when a program without a screen has it, and none of a helper or of an earlier life is looked at", () => {
    const printed = transcript(1, startedAt + 9000, "sdk-cli");
    transcript(2, startedAt + 9000, "cli", startedAt, startedAt - 60_000);
    write(join(current, "../agent-a1.jsonl"), [{ timestamp: iso(startedAt + 9000), entrypoint: "cli" }]);
    expect(others()).toEqual([{ file: printed, isLater: false }]);
  });

  it("is not looked for where no person can go to one", () => {
    transcript(1, startedAt + 9000);
    expect(others({ args: ["-p", "x"] })).toEqual([]);
  });
});

describe("the file of a conversation of Gemini CLI", () => {
  const chat = (name: string, more: object = {}): string =>
    write(join(home, ".gemini/tmp/my-app/chats", `session-2026-11-16T19-39-${name}.jsonl`), [
      { sessionId: name, projectHash: hashOf(cwd), startTime: iso(startedAt + 1000), kind: "main", ...more },
    ]);

  it("is the one that began in its folder after it did, and not one of a helper", () => {
    chat("aaaaaaaa", { projectHash: hashOf("/elsewhere") });
    chat("bbbbbbbb", { startTime: iso(startedAt - 60_000) });
    chat("cccccccc", { kind: "subagent" });
    const file = chat("dddddddd");
    expect(find(running("gemini-cli"))).toEqual({ kind: "found", file });
    expect(find(running("gemini-cli", { env: { HOME: "/nowhere", GEMINI_CLI_HOME: home } }))).toMatchObject({ file });
  });

  it("is the one it was told to go on with", () => {
    const file = chat("2ef7cea2", { startTime: iso(startedAt - 60_000) });
    const args = ["--resume", "2ef7cea2-aac9-4878-99ad-d56a5655882a"];
    expect(find(running("gemini-cli", { args }))).toEqual({ kind: "found", file });
  });
});

describe("the conversation of opencode", () => {
  const lookIn = (env: Record<string, string>, conversations: readonly string[] | null = ["ses_1"]) =>
    findSessionFile(running("opencode", { env: { HOME: home, ...env } }), null, new Set(), {
      findConversations: () => conversations,
    });

  it("is kept where its environment says, and an empty word says nothing", () => {
    const usual = join(home, ".local/share/opencode/opencode.db");
    expect(lookIn({})).toEqual({ kind: "found", file: usual, conversation: "ses_1" });
    expect(lookIn({ XDG_DATA_HOME: "", OPENCODE_DB: "" })).toMatchObject({ file: usual });
    expect(lookIn({ XDG_DATA_HOME: "/data" })).toMatchObject({ file: "/data/opencode/opencode.db" });
    expect(lookIn({ OPENCODE_DB: "/elsewhere/own.db" })).toMatchObject({ file: "/elsewhere/own.db" });
  });

  it("is not found where its database cannot be read, or has none of it yet", () => {
    expect(lookIn({}, null)).toEqual({ kind: "not-found", because: "its database cannot be read" });
    expect(lookIn({}, [])).toEqual({ kind: "not-found", because: "not found yet" });
  });
});
