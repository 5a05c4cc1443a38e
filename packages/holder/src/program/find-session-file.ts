import { createHash } from "node:crypto";
import { readdirSync, readSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { EpochMs } from "@rouse/contract";
import { optionsOfClaude, optionsOfCodex } from "@rouse/core";
import { attempt } from "../attempt.ts";
import { readAllProcesses } from "../processes/read-processes.ts";
import { readPlainFile } from "../read-plain-file.ts";
import { describeRunning, type Running } from "./find-running.ts";

/** Where a program keeps its conversation, or why that is not known. */
export type FoundFile =
  /** `conversation`: the file is a database of many; this is the id of one. */
  | { readonly kind: "found"; readonly file: string; readonly conversation?: string }
  | { readonly kind: "not-found"; readonly because: string };

const notFound = (because: string): FoundFile => ({ kind: "not-found", because });

/** Clocks of the kernel, the file system and the program differ a little. */
const slackMs = 2000;

/**
 * The file of the conversation that this program has. `session` is its id, where that is known. `ours` are the
 * processes of the agent. In doubt no file is found: the steps of another agent would be held against this one.
 */
export function findSessionFile(
  running: Running,
  session: string | null,
  ours: ReadonlySet<number>,
  database: OpencodeDatabase | null = null,
): FoundFile {
  switch (running.family) {
    case "claude-code":
      if (running.args.includes("--no-session-persistence")) return notFound("it was told to keep none");
      return choose(claudeFiles(running), running, session ?? idIn(running.args), ours);
    case "codex":
      return choose(codexFiles(running), running, session ?? idIn(running.args), ours);
    case "opencode":
      return database === null ? notFound("not found yet") : chooseConversation(database, running, ours);
    case "gemini-cli":
      return choose(geminiFiles(running), running, (session ?? idIn(running.args))?.slice(0, shortId) ?? null, ours);
    case "aider":
    case "generic":
      return notFound("its file is not read");
  }
}

/** Finds conversations of opencode; loaded only where opencode runs. */
type OpencodeDatabase = Pick<typeof import("./read-opencode-database.ts"), "findConversations">;

/** A person may switch conversations at any time: the one that was continued last is the current one. */
function chooseConversation(
  { findConversations }: OpencodeDatabase,
  running: Running,
  ours: ReadonlySet<number>,
): FoundFile {
  const file = opencodeFile(running);
  const found = findConversations(file, real(running.cwd), running.startedAt);
  if (found === null) return notFound("its database cannot be read");
  // Even where another opencode works in the folder, an id among the arguments is its own.
  const alone = !hasNeighbour(running, ours);
  const conversation = alone ? found[0] : found.find((id) => running.args.includes(id));
  if (conversation !== undefined) return { kind: "found", file, conversation };
  return notFound(alone ? "not found yet" : "others work in the same folder");
}

/** Unreleased builds have a database of their own, which is not looked for. */
function opencodeFile(running: Running): string {
  const { XDG_DATA_HOME, OPENCODE_DB = "" } = running.env;
  const folder = join(XDG_DATA_HOME || join(homeOf(running), ".local", "share"), "opencode");
  return resolve(folder, OPENCODE_DB || "opencode.db");
}

/** The id of a conversation that was chosen when the program was started. */
const idIn = (args: readonly string[]): string | null =>
  args.find((arg) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(arg)) ?? null;

function choose(
  files: readonly string[],
  running: Running,
  session: string | null,
  ours: ReadonlySet<number>,
): FoundFile {
  if (session !== null) {
    const file = files.find((each) => basename(each).includes(session));
    return file === undefined ? notFound("not found yet") : { kind: "found", file };
  }
  const begun = files.filter((file) => isBegunBy(file, running));
  const [file] = begun;
  if (file === undefined) return notFound("not found yet");
  if (begun.length > 1 || hasNeighbour(running, ours)) return notFound("others work in the same folder");
  return { kind: "found", file };
}

/**
 * Another conversation in the folder where a program works. `isLater`: the same kind of program continued it after the
 * program's current one.
 */
interface OtherFile {
  readonly file: string;
  readonly isLater: boolean;
}

/**
 * A person may switch to another conversation in the screen of a program (`/new` of Codex, `/clear` and `/resume` of
 * Claude Code), and only its files show that. Newest last.
 */
export function findOtherFiles(running: Running, current: string): readonly OtherFile[] {
  switch (running.family) {
    case "codex":
      return laterRollouts(running, current).map((file) => ({ file, isLater: true }));
    case "claude-code":
      return otherTranscripts(running, current);
    default:
      return [];
  }
}

/** A resumed conversation goes on in its own file, so the file that was written last counts. */
function otherTranscripts(running: Running, current: string): readonly OtherFile[] {
  // A program that only prints has no screen in which a person could switch.
  if (optionsOfClaude(running.args).has("--print")) return [];
  const known = lastStamp(current);
  const stamped = claudeFiles(running)
    .filter((file) => file !== current && isTranscript.test(basename(file)))
    .map((file) => ({ file, stamp: lastStamp(file) }));
  const at = ({ stamp }: (typeof stamped)[number]): string => stamp?.timestamp ?? "";
  return stamped
    .sort((a, b) => (at(a) < at(b) ? -1 : 1))
    .map(({ file, stamp }) => ({ file, isLater: known !== null && stamp !== null && isAfter(stamp, known) }));
}

/** A hook is called a moment after the command, on a busy machine a long one. */
const clearedWithinMs = 5000;

/**
 * The conversation that Claude Code began when a person cleared the one in `transcript`: its file contains that
 * command, given at about `at`. `null`: there is none yet, or several were cleared in the same folder at the same
 * moment.
 */
export function findCleared(transcript: string, at: EpochMs): string | null {
  const begun = list(dirname(transcript)).filter(
    (file) =>
      file !== transcript && isTranscript.test(basename(file)) && Math.abs(clearedAt(file) - at) <= clearedWithinMs,
  );
  return begun.length === 1 ? (begun[0] ?? null) : null;
}

/** The command has several names. */
const clearing = /^<command-name>\/(?:clear|reset|new)<\/command-name>/;

function clearedAt(file: string): EpochMs {
  const line = readHead(file).find(({ message }) => clearing.test(String((message as Content | undefined)?.content)));
  return Date.parse(String(line?.["timestamp"]));
}

interface Content {
  readonly content?: unknown;
}

/** Transcripts of subagents have other names. */
const isTranscript = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\.jsonl$/;

/** When a conversation was last continued, and by what kind of program: one without a screen is a tool. */
interface Stamp {
  readonly timestamp: string;
  readonly entrypoint: unknown;
}

const isAfter = (a: Stamp, b: Stamp): boolean => a.entrypoint === b.entrypoint && a.timestamp > b.timestamp;

function lastStamp(file: string): Stamp | null {
  const lines = readPiece(file, (size) => Math.max(0, size - pieceBytes));
  const last = lines.findLast(({ timestamp, entrypoint }) => typeof timestamp === "string" && entrypoint !== undefined);
  return last === undefined ? null : { timestamp: last["timestamp"] as string, entrypoint: last["entrypoint"] };
}

/** When a conversation of Claude Code was last continued. */
export const lastWritten = (file: string): EpochMs | null => {
  const at = Date.parse(lastStamp(file)?.timestamp ?? "");
  return Number.isNaN(at) ? null : at;
};

/** Conversations that the same kind of Codex began in the same folder after the current one, each in its file. */
function laterRollouts(running: Running, current: string): readonly string[] {
  const originator = originatorOf(current);
  const recent = codexFolders(running).slice(-newestDays).flatMap(list);
  return recent
    .filter((file) => basename(file) > basename(current) && /rollout-[^/]*\.jsonl$/.test(file))
    .filter((file) => isBegunBy(file, running) && originatorOf(file) === originator)
    .sort((a, b) => (basename(a) < basename(b) ? -1 : 1));
}

/** A new conversation is in today's folder, or in yesterday's shortly after midnight. */
const newestDays = 2;

function originatorOf(file: string): unknown {
  const first = readHead(file)[0] ?? {};
  return ((first["payload"] ?? {}) as { originator?: unknown }).originator;
}

/** Whether another process of the same program works in the same folder: then it may have written the file. */
export function hasNeighbour(running: Running, ours: ReadonlySet<number>): boolean {
  const folder = workFolderOf(running);
  return readAllProcesses().some((info) => {
    if (ours.has(info.pid)) return false;
    const other = describeRunning(info);
    return other !== null && other.family === running.family && workFolderOf(other) === folder;
  });
}

/** Codex can be told to work in another folder than the one it was started in. */
function workFolderOf({ family, cwd, args }: Running): string {
  const chosen = family === "codex" ? optionsOfCodex(args).get("--cd") : undefined;
  return real(typeof chosen === "string" ? resolve(cwd, chosen) : cwd);
}

const homeOf = ({ env }: Running): string => env["HOME"] ?? homedir();

/** Claude Code has one folder for each working folder, named after it. */
function claudeFiles(running: Running): string[] {
  const base = running.env["CLAUDE_CONFIG_DIR"] ?? join(homeOf(running), ".claude");
  const folder = join(base, "projects", real(running.cwd).replace(/[^A-Za-z0-9]/g, "-"));
  return list(folder).filter((file) => file.endsWith(".jsonl") && isChangedSince(file, running.startedAt));
}

/** Codex has one folder for each day, by the wall clock; a conversation stays where it began. */
function codexFiles(running: Running): string[] {
  return codexFolders(running)
    .slice(-mostDays)
    .flatMap(list)
    .filter((file) => /rollout-[^/]*\.jsonl$/.test(file) && isChangedSince(file, running.startedAt));
}

function codexFolders(running: Running): string[] {
  const sessions = join(running.env["CODEX_HOME"] ?? join(homeOf(running), ".codex"), "sessions");
  return list(sessions).flatMap(list).flatMap(list).sort();
}

const mostDays = 30;

/** Gemini CLI has one folder for each working folder; each file says which working folder it is about. */
function geminiFiles(running: Running): string[] {
  const base = join(running.env["GEMINI_CLI_HOME"] ?? homeOf(running), ".gemini", "tmp");
  return list(base)
    .flatMap((folder) => list(join(folder, "chats")))
    .filter((file) => /session-[^/]*\.jsonl$/.test(file) && isChangedSince(file, running.startedAt));
}

/** This much of a session's id is in the name of its file. */
const shortId = 8;

/** Whether this program began the conversation, in its folder, and as its own: not that of a helper it started. */
function isBegunBy(file: string, running: Running): boolean {
  const { startedAt, cwd, family } = running;
  const time = family === "gemini-cli" ? "startTime" : "timestamp";
  const first = readHead(file).find((line) => typeof line[time] === "string");
  if (first === undefined) return false;
  if (Date.parse(first[time] as string) < startedAt - slackMs) return false;
  if (family === "gemini-cli") return first["kind"] === "main" && first["projectHash"] === hashOf(real(cwd));
  if (family !== "codex") return true;
  const meta = (first["payload"] ?? {}) as { cwd?: unknown; thread_source?: unknown };
  return meta.cwd === workFolderOf(running) && (meta.thread_source === undefined || meta.thread_source === "user");
}

const hashOf = (folder: string): string => createHash("sha256").update(folder).digest("hex");

const pieceBytes = 256 * 1024;

const readHead = (file: string): Record<string, unknown>[] => readPiece(file, () => 0, 50);

/** The lines of one piece of a file. */
function readPiece(file: string, from: (size: number) => number, most?: number): Record<string, unknown>[] {
  const piece = readPlainFile(file, ({ handle, size }) => {
    const bytes = Buffer.alloc(pieceBytes);
    return bytes.subarray(0, readSync(handle, bytes, 0, pieceBytes, from(size))).toString("utf8");
  });
  return (piece ?? "").split("\n").slice(0, most).flatMap(parse);
}

function parse(line: string): Record<string, unknown>[] {
  const value: unknown = attempt(() => JSON.parse(line));
  return typeof value === "object" && value !== null ? [value as Record<string, unknown>] : [];
}

const list = (folder: string): string[] => attempt(() => readdirSync(folder).map((name) => join(folder, name))) ?? [];

const isChangedSince = (file: string, at: number): boolean =>
  (attempt(() => statSync(file).mtimeMs) ?? Number.NEGATIVE_INFINITY) >= at - slackMs;

const real = (folder: string): string => attempt(() => realpathSync(folder)) ?? folder;
