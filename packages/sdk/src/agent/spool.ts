import { canonicalJson } from "@rouse/contract";
import { isObject } from "../read-recovery.ts";
import { parseOrNull } from "../send.ts";
import { type Environment, type Files, hashOf, homeIn, hostProcess, loadFiles } from "./surroundings.ts";

/** A checkpoint as it waits. `text`: the state as JSON. */
export interface WaitingCheckpoint {
  readonly step: number;
  readonly name: string;
  readonly text: string;
  /** The newest that Rouse was known to have when this one was made; absent where that was not known. */
  readonly after?: string | undefined;
}

export interface Spooled extends WaitingCheckpoint {
  readonly file: string;
}

/**
 * Checkpoints that Rouse could not take yet, on disk: `$ROUSE_HOME/unsent/AGENT/TASK`, only for its owner; an agent that
 * Rouse started is told the folder, because all its lives must mean the same. The next one sends what this one could not.
 */
export interface Spool {
  /** What an earlier life left, oldest first. */
  load(): Promise<Spooled[]>;
  /** Resolves with the file once it is on disk. */
  keep(checkpoint: WaitingCheckpoint): Promise<string>;
  drop(file: string): Promise<void>;
}

/** `null` where there is no data folder of a Rouse: then checkpoints wait in memory. */
export async function openSpool(env: Environment, agentId: string, taskId: string): Promise<Spool | null> {
  const [home, files] = [homeIn(env), await loadFiles()];
  const folder = env["ROUSE_UNSENT"] || (home === null ? null : `${home}/unsent`);
  if (folder === null || files === null) return null;
  const isThere = await files.stat(folder.replace(/[\\/][^\\/]*$/, "")).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isThere ? spoolIn(files, `${folder}/${agentId}/${taskId}`) : null;
}

function spoolIn(files: Files, folder: string): Spool {
  let number = 0;

  /** Another program of this user may have put anything there: to read a pipe would take for ever. */
  async function read(file: string): Promise<Spooled[]> {
    const found = await files.lstat(`${folder}/${file}`).catch(() => null);
    if (found?.isFile() !== true || found.size > largestFile) return [];
    const said = parseOrNull(await files.readFile(`${folder}/${file}`, "utf8").catch(() => ""));
    if (!isObject(said) || !("state" in said)) return [];
    const { step, name, state, after } = said;
    if (!Number.isInteger(step) || typeof name !== "string") return [];
    return [
      {
        step: Number(step),
        name,
        text: JSON.stringify(state),
        file,
        after: typeof after === "string" ? after : undefined,
      },
    ];
  }

  async function writeSynced(path: string, text: string): Promise<void> {
    const file = await files.open(path, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** The name itself is on disk only when the folder is. */
  async function syncFolder(): Promise<void> {
    const opened = await files.open(folder, "r");
    await opened.sync().finally(() => opened.close());
  }

  return {
    async load() {
      const names = (await files.readdir(folder).catch((): string[] => []))
        .filter((name) => fileName.test(name))
        .sort();
      number = Number(names.at(-1)?.slice(0, 12) ?? 0);
      const read_: Spooled[] = [];
      for (const name of names) read_.push(...(await read(name)));
      return read_;
    },
    async keep({ step, name, text, after }) {
      await files.mkdir(folder, { recursive: true, mode: 0o700 });
      const file = `${String(++number).padStart(12, "0")}-${hostProcess()?.pid}.json`;
      const unfinished = `${folder}/${file}.unfinished`;
      await files.rm(unfinished, { force: true });
      await writeSynced(
        unfinished,
        `{"step":${step},"name":${JSON.stringify(name)}${after === undefined ? "" : `,"after":${JSON.stringify(after)}`},"state":${text}}`,
      );
      await files.rename(unfinished, `${folder}/${file}`);
      await syncFolder();
      return file;
    },
    drop: (file) => files.rm(`${folder}/${file}`, { force: true }),
  };
}

/** Whatever begins with 9 is none of ours: the numbers after it would need more digits than are read. */
const fileName = /^[0-8]\d{11}-\d+\.json$/;

/** Four times the largest state of a checkpoint. */
const largestFile = 64 * 1024 * 1024;

/** The newest checkpoint of a task, as Rouse lists it. */
export interface Newest {
  readonly id: string;
  readonly step: number;
  readonly stateHash: unknown;
}

export function newestOf(body: unknown): Newest | null {
  const [first] = (body as { checkpoints: readonly unknown[] }).checkpoints;
  if (!isObject(first) || typeof first["id"] !== "string" || typeof first["step"] !== "number") return null;
  return { id: first["id"], step: first["step"], stateHash: first["stateHash"] };
}

/**
 * Which of those that an earlier life left are not to be sent any more. `gone`: all of them. `lost`: those that Rouse
 * does not have, because another life saved a step as far or farther meanwhile.
 */
export async function findOvertaken<C extends WaitingCheckpoint>(
  left: readonly C[],
  newest: Newest | null,
): Promise<{ readonly gone: readonly C[]; readonly lost: readonly C[] }> {
  if (newest === null) return { gone: [], lost: [] };
  // Only its answer was lost: what was made after it goes on from it. Sent again, it is the one that is there.
  for (const [at, one] of left.entries()) if (await isSame(one, newest)) return { gone: left.slice(0, at), lost: [] };
  const lost = left.filter(({ step, after }) => step <= newest.step && after !== newest.id);
  return { gone: lost, lost };
}

async function isSame({ step, text }: WaitingCheckpoint, newest: Newest): Promise<boolean> {
  return step === newest.step && (await hashOf(canonicalJson(parseOrNull(text)))) === newest.stateHash;
}
