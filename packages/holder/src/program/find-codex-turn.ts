import { lstatSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { isCodexExec } from "@rouse/core";
import { attempt } from "../attempt.ts";
import type { Running } from "./find-running.ts";

/** A turn of a Codex with a full screen, and the server that runs it. */
export interface CodexTurn {
  /** The path of its socket. */
  readonly server: string;
  readonly thread: string;
  readonly turn: string;
}

/** A Codex with a full screen, and the server that runs its turns. */
export interface CodexScreen {
  /** The path of its socket. */
  readonly server: string;
  /** Its conversation; `null` when its session file is not known. */
  readonly thread: string | null;
  readonly cwd: string;
}

/** A conversation that was rolled back goes on in another file of the same thread. */
const rollout = /^rollout-[\dT-]{19}-([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?:_[\da-f-]+)?\.jsonl$/;

/** Where a message can be put into the turn that is under way according to the session file; `null`: nowhere. */
export function findCodexTurn(running: Running, sessionFile: string, turn: string | null): CodexTurn | null {
  const screen = turn === null ? null : findCodexScreen(running, sessionFile);
  if (screen === null || screen.thread === null || turn === null) return null;
  return { server: screen.server, thread: screen.thread, turn };
}

/** `null`: it is no Codex with a full screen, or has no server that we may connect to. */
export function findCodexScreen({ family, args, cwd, env }: Running, sessionFile: string | null): CodexScreen | null {
  if (family !== "codex" || isCodexExec(args)) return null;
  const thread = sessionFile === null ? null : (rollout.exec(basename(sessionFile))?.[1] ?? null);
  const home = resolve(cwd, env["CODEX_HOME"] || join(env["HOME"] ?? homedir(), ".codex"));
  const server = findOwnSocket(join(home, "app-server-control", "app-server-control.sock"));
  return server === null ? null : { server, thread, cwd };
}

/**
 * The real path of a socket of our own, behind a link or not. Whoever listens there gets our words, so the link, the
 * socket and their folders must belong to this user, and no other user may be able to replace them.
 */
function findOwnSocket(path: string): string | null {
  return attempt(() => {
    if (lstatSync(path).uid !== process.getuid?.() || !isKeptFromOthers(dirname(path))) return null;
    const real = realpathSync(path);
    const socket = lstatSync(real);
    if (!socket.isSocket() || socket.uid !== process.getuid()) return null;
    return isKeptFromOthers(dirname(real)) ? real : null;
  });
}

const writableByOthers = 0o022;

function isKeptFromOthers(folder: string): boolean {
  const { uid, mode } = statSync(folder);
  return uid === process.getuid?.() && (mode & writableByOthers) === 0;
}
