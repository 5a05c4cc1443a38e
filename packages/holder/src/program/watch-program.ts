import { basename } from "node:path";
import type { AgentFamily, AgentInput, EpochMs, Eye, EyeState, Sight } from "@rouse/contract";
import {
  answersByMessage,
  findCompletion,
  findProgram,
  followWords,
  hasWords,
  optionsOfClaude,
  type Pattern,
  printsStream,
  readHook,
  readSessionLine,
  startStream,
  type TypedWords,
} from "@rouse/core";
import type { HolderLog } from "../holder-log.ts";

import { areSame } from "../processes/read-processes.ts";
import type { TreeWatch } from "../processes/watch-tree.ts";
import { inputOf, type Spec } from "../protocol/spec.ts";
import { createAlarm, readClock } from "../watch/clock.ts";
import { type CodexScreen, type CodexTurn, findCodexScreen, findCodexTurn } from "./find-codex-turn.ts";
import { findRunning, isInFront, processesOf, type Running } from "./find-running.ts";
import { findCleared, findOtherFiles, findSessionFile, hasNeighbour, lastWritten } from "./find-session-file.ts";
import { emptyHooks, openHooks } from "./give-hooks.ts";
import { type Containment, type HookAnswer, parseHook, withholdTool } from "./listen-for-hooks.ts";
import { type HookNudges, nudgeByHook } from "./nudge-by-hook.ts";
import { nudgeBySteer, type SteerNudges } from "./nudge-by-steer.ts";
import { type Connection, recogniseCaller } from "./recognise-caller.ts";
import { type FileTail, tailFile } from "./tail-file.ts";

/** Receives what is seen of a program. */
interface ProgramNews {
  saw(eye: Eye, sights: readonly Sight[]): void;
  /** Another program than before runs. */
  runs(family: AgentFamily): void;
  patterns(): readonly Pattern[];
  readonly containment: Containment;
}

/** What a holder knows about its agent's program by its hooks, its session file and its processes. */
export interface ProgramWatch {
  /** What to start, and what to add to the environment. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  begin(tree: TreeWatch, news: ProgramNews): void;
  family(): AgentFamily;
  eyes(): EyeState[];
  input(): AgentInput;
  /**
   * The stream names the current conversation: its file is found by that id, also where others work in the same folder.
   */
  entered(session: string): void;
  /** The screen shows that the turn is over. */
  rests(): void;
  readonly nudges: HookNudges;
  readonly steer: SteerNudges;
  /** Whether what is typed reaches the program, as far as that is known. */
  inFront(): boolean;
  /** A nudge is being typed. */
  typed(nudge: { readonly id: string; readonly text: string }): void;
  /** Whether the session file shows when a nudge was read: what the screen shows of it adds nothing then. */
  tellsReceipts(): boolean;
  /** Whether the program calls a hook before each tool. */
  hooksOpen(): boolean;
  /** The program, if it is a Codex with a full screen that has its turns in a server. */
  codexScreen(): CodexScreen | null;
  /** Reads the session file up to now, so that it is reported before what comes after it. */
  catchUp(): void;
  /** Takes a last look at the session file. */
  end(): void;
}

const lookMs = 500;
/** The program is looked for often while an agent starts, and rarely once it runs. */
const searchMs = 1000;
const seldomMs = 5000;
const startingMs = 30_000;

export async function watchProgram(spec: Spec, pluginFolder: string, log: HolderLog): Promise<ProgramWatch> {
  const nudges = nudgeByHook();
  const steer = nudgeBySteer(openTurn, () => attempt(readFile), log);
  const callerOf = recogniseCaller(ownProcesses);
  let hooksBlind = "none heard yet";
  let hooksOpenTo: string | null = null;
  const hooks = await openHooks(spec, pluginFolder, hear, admit, log);
  const prints = optionsOfClaude(findProgram(spec.command)?.args ?? []).has("--print");
  let family: AgentFamily = spec.family;
  let running: Running | null = null;
  let session: string | null = null;
  let hookState = startStream();
  let hooksHeard = false;
  let cleared: { readonly transcript: string; readonly at: EpochMs } | null = null;
  let fileState = startStream();
  let tail: (FileTail & Followed) | null = null;
  let database: typeof import("./read-opencode-database.ts") | null = null;
  let loading = false;
  let typed: (TypedWords & { readonly nudge: string }) | null = null;
  let blind = "not found yet";
  let searchAt = 0;
  const othersFiles = new Set<string>();
  const startedAt = Date.now();
  let tree: TreeWatch | null = null;
  let news: ProgramNews | null = null;
  const looking = createAlarm(look);

  /** The tools of a program have its token, too: one could report a false limit, or take a nudge and confirm it. */
  function admit(connection: Connection): boolean {
    const caller = tree === null ? "unknown" : callerOf(connection);
    if (caller === "unknown") hooksOpenTo = "its tools could call them as well";
    if (caller === "somebody-else") hooksBlind = "called by another process than its program";
    return caller !== "somebody-else";
  }

  /** The process that was started, and the program's own where that is another. */
  function ownProcesses(): readonly number[] {
    if (tree === null) return [];
    const { pid } = tree.root().agent;
    const members = tree.look();
    const found = findRunning(pid, members);
    return [pid, ...(found === null ? [] : processesOf(found, members))];
  }

  function hear(body: string): HookAnswer | Promise<HookAnswer> {
    hooksHeard = true;
    const hook = parseHook(body);
    const step = readHook(hookState, body, readClock());
    hookState = step.state;
    session = step.state.session ?? session;
    if (hook.transcript !== null) follow({ file: hook.transcript });
    if (hook.isMain) cleared = hook.clears === null ? null : { transcript: hook.clears, at: Date.now() };
    const { answer, read } = hook.isMain ? nudges.heard(hook.event) : { answer: null, read: null };
    const receipt: Sight[] = read === null ? [] : [{ kind: "nudge-read", nudge: read }];
    news?.saw("hooks", [...receipt, ...step.sights, ...findCompletion(step, news.patterns())]);
    const withheld = news === null ? null : withholdTool(hook.event, news.containment, !prints);
    return answer ?? withheld ?? { body: {} };
  }

  /** A hook says that a person cleared the conversation, but not which one follows. The files show that. */
  function enterCleared(): void {
    const file = cleared === null ? null : findCleared(cleared.transcript, cleared.at);
    if (file === null) return;
    cleared = null;
    session = basename(file, ".jsonl");
    hookState = { ...hookState, session };
    news?.saw("hooks", [{ kind: "session", id: session, model: null, version: null }]);
    follow({ file });
  }

  /** A new conversation is kept in another file. */
  function follow({ file, conversation, since = null }: Followed): void {
    if (file === tail?.file && conversation === tail.conversation) return;
    const followed = conversation === undefined ? tailFile(file) : database?.tailConversation(file, conversation);
    if (followed === undefined) return;
    tail = { ...followed, file, since, ...(conversation === undefined ? {} : { conversation }) };
    fileState = startStream();
  }

  function look(): void {
    attempt(() => {
      if (Date.now() >= searchAt) search();
      enterCleared();
      readFile();
    });
    looking.ringIn(lookMs);
  }

  function attempt(reading: () => void): void {
    try {
      reading();
    } catch (error) {
      log("what the agent's program keeps could not be read", error);
    }
  }

  function search(): void {
    // In a database of many conversations only another look shows that a person switched.
    const isKnown = spec.family !== "generic" && running !== null && tail !== null && tail.conversation === undefined;
    searchAt = Date.now() + (Date.now() - startedAt < startingMs ? searchMs : seldomMs);
    if (tree === null) return;
    if (isKnown) return searchLater(tree.look);
    const members = tree.look();
    const found = findRunning(tree.root().agent.pid, members);
    if (found === null && spec.family === "generic") leave();
    else if (found !== null && (running === null || !areSame(found, running))) enter(found);
    if (running === null) return;
    if (tail === null) searchFile(running, new Set(members.map(({ pid }) => pid)));
    else if (tail.conversation === undefined) searchLater(() => members);
    // While a tool runs, the conversation that was continued last may be that of an opencode which the tool runs.
    else if (fileState.tools.length === 0) searchFile(running, processesOf(running, members));
  }

  /**
   * A person may switch to another conversation in the screen; where there are hooks, they tell. A file that appeared
   * while others worked in the folder is never taken for the agent's own, also when the others are gone.
   */
  function searchLater(look: TreeWatch["look"]): void {
    if (running === null || tail === null || spec.structured || hooksHeard || fileState.tools.length > 0) return;
    const others = findOtherFiles(running, tail.file).filter(({ file }) => !othersFiles.has(file));
    if (others.length === 0) return;
    const members = look();
    const isCodex = running.family === "codex";
    if (hasNeighbour(running, isCodex ? new Set(members.map(({ pid }) => pid)) : processesOf(running, members))) {
      for (const { file } of others) othersFiles.add(file);
      return;
    }
    const newest = others.findLast(({ isLater }) => isLater);
    if (newest === undefined) return;
    session = null;
    // Older lines in the file were written before, in this life or in another.
    follow({ file: newest.file, since: isCodex ? null : lastWritten(tail.file) });
  }

  /** A script may run one program after another. */
  function enter(found: Running): void {
    running = found;
    if (spec.family !== "generic") return;
    leaveConversation();
    if (found.family === family) return;
    family = found.family;
    news?.runs(family);
  }

  /** The program has ended, and what follows it in a script, a shell maybe, is another. */
  function leave(): void {
    if (running === null) return;
    readFile();
    running = null;
    leaveConversation();
    family = "generic";
    news?.runs(family);
  }

  function leaveConversation(): void {
    tail = null;
    session = null;
    fileState = startStream();
  }

  /** A program that was started by its own name may not be found among the processes. */
  function inFront(): boolean {
    if (running !== null && isInFront(running)) return true;
    const found = tree === null ? null : findRunning(tree.root().agent.pid, tree.look());
    return found === null ? spec.family !== "generic" : found.family === family && isInFront(found);
  }

  function searchFile(program: Running, ours: ReadonlySet<number>): void {
    if (program.family === "opencode" && !loading) loadDatabase();
    const found = findSessionFile(program, session, ours, database);
    if (found.kind === "found") follow(found);
    else blind = found.because;
  }

  /** Loaded only where opencode runs, because it is not small. */
  function loadDatabase(): void {
    loading = true;
    import("./read-opencode-database.ts").then(
      (loaded) => {
        database = loaded;
      },
      (error: unknown) => log("databases cannot be read", error),
    );
  }

  function readFile(): void {
    if (tail === null || news === null) return;
    const since = tail.since ?? running?.startedAt ?? startedAt;
    const seen: Sight[] = [];
    for (const line of tail.look()) {
      const given = nudges.given();
      if (given !== null && hasWords(line, given.text)) seen.push({ kind: "nudge-read", nudge: given.id });
      seen.push(...findReceipt(line));
      steer.heard(line);
      const step = readSessionLine(family, fileState, line, readClock(), since);
      fileState = step.state;
      seen.push(...step.sights, ...findCompletion(step, news.patterns()));
    }
    const steered = steer.read();
    if (steered !== null) seen.push({ kind: "nudge-read", nudge: steered });
    if (seen.length > 0) news.saw("session-file", seen);
  }

  function openTurn(): CodexTurn | null {
    if (running === null || tail === null) return null;
    return findCodexTurn(running, tail.file, fileState.turn);
  }

  function findReceipt(line: string): Sight[] {
    if (typed === null || !answersByMessage(family)) return [];
    const { nudge } = typed;
    const after = followWords(typed, line);
    typed = after === null ? null : { ...after, nudge };
    return after === null ? [{ kind: "nudge-read", nudge }] : [];
  }

  /**
   * Nobody knows what a script does with the lines of a stream: it may print other things between them, or drop them.
   */
  function whyNoStream(): string {
    const prints = running !== null && printsStream(running.family, running.args);
    return prints ? "it is printed inside a script, where it is not read" : "not asked for";
  }

  function eyes(): EyeState[] {
    const open = (eye: Eye): EyeState => ({ eye, sees: true, because: null });
    const shut = (eye: Eye, because: string): EyeState => ({ eye, sees: false, because });
    const screen = spec.structured ? shut("screen", "its stream is read instead") : open("screen");
    if (family === "generic") return [screen];
    return [
      spec.structured ? open("stream") : shut("stream", whyNoStream()),
      hooksHeard
        ? { ...open("hooks"), because: hooksOpenTo }
        : shut("hooks", hooks.given.kind === "none" ? hooks.given.because : hooksBlind),
      tail === null ? shut("session-file", blind) : open("session-file"),
      screen,
    ];
  }

  return {
    command: hooks.given.kind === "given" ? hooks.given.command : (spec.resumed ?? spec.command),
    env: hooks.given.kind === "given" ? hooks.given.env : {},
    begin(of, to) {
      tree = of;
      news = to;
      looking.ringIn(lookMs);
    },
    family: () => family,
    eyes,
    input: () => inputOf(spec, { family, hooks: hooksHeard && nudges.possible(), steer: steer.possible() }),
    entered(id) {
      if (id === session) return;
      session = id;
      searchAt = 0;
    },
    rests: nudges.rests,
    nudges,
    steer,
    inFront,
    typed({ id, text }) {
      typed = { words: text, message: null, nudge: id };
    },
    tellsReceipts: () => answersByMessage(family) && tail !== null,
    hooksOpen: () => hooksHeard,
    codexScreen() {
      if (running === null) attempt(search);
      return running === null ? null : findCodexScreen(running, tail?.file ?? null);
    },
    catchUp: () =>
      attempt(() => {
        if (tail === null) search();
        readFile();
      }),
    end() {
      looking.stop();
      nudges.end();
      steer.end();
      hooks.ear?.close();
      if (hooks.ear !== null) attempt(() => emptyHooks(pluginFolder));
      attempt(() => {
        enterCleared();
        const program = running ?? asStarted(spec, startedAt);
        if (tail === null && program !== null) searchFile(program, new Set());
        readFile();
      });
    },
  };
}

/** What is read as a conversation: a file, or one of many in a database. */
interface Followed {
  readonly file: string;
  readonly conversation?: string;
  /** Only lines after this moment belong to this life; `null`: after the start of the program. */
  readonly since?: EpochMs | null;
}

/** The program of an agent that ended before its processes were looked at, as it was started. */
function asStarted(spec: Spec, startedAt: number): Running | null {
  const program = findProgram(spec.resumed ?? spec.command);
  if (program === null || program.family !== spec.family) return null;
  const { cwd, env } = spec;
  return { ...program, pid: 0, startTicks: 0, startedAt, cwd, env };
}
