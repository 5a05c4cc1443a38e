import { createReadStream, readdirSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { describeReadError, noSuchFile } from "../config/config-problem.ts";
import type { Problems } from "./note-problems.ts";

/** Something to read recorded events from. */
export interface Recording {
  /** As the user named it. */
  readonly name: string;
  /** Equal for the same file, however it was named. */
  readonly identity: string;
  readonly bytes: number | null;
  open(): AsyncIterable<Buffer>;
}

const endings = [".jsonl", ".ndjson"];
/** People's labels of the recordings in a folder. */
const labelsFile = "labels.jsonl";

/** Files, folders of files and `-`, in the order they were named. A missing one is noted, and the rest is read. */
export function findRecordings(
  names: readonly string[],
  folder: string,
  stdin: AsyncIterable<Buffer>,
  problems: Problems,
): Recording[] {
  const seen = new Set<string>();
  return names.flatMap((name) => {
    if (name === "-") return once("-", name) ? [{ name: "stdin", identity: "-", bytes: null, open: () => stdin }] : [];
    return filesOf(name).flatMap(findFile);
  });

  /** A file read twice would look like an agent that does everything twice. */
  function once(identity: string, name: string): boolean {
    if (!seen.has(identity)) return Boolean(seen.add(identity));
    problems.note({ kind: "named-twice", file: name, line: null, message: "was named before and is read once" });
    return false;
  }

  function filesOf(name: string): string[] {
    try {
      const path = resolve(folder, name);
      if (!statSync(path).isDirectory()) return [name];
      const inside = readdirSync(path).filter(
        (file) => endings.some((end) => file.endsWith(end)) && file !== labelsFile,
      );
      if (inside.length === 0) note("missing-file", name, `is a folder without ${endings.join(" or ")} files`);
      return inside.toSorted().map((file) => join(name, file));
    } catch (error) {
      noteError(name, error);
      return [];
    }
  }

  function findFile(name: string): Recording[] {
    try {
      const path = realpathSync(resolve(folder, name));
      const stat = statSync(path);
      if (stat.isDirectory()) note("unreadable", name, "is a folder, expected a file");
      else if (once(path, name))
        return [{ name, identity: path, bytes: stat.isFile() ? stat.size : null, open: () => createReadStream(path) }];
    } catch (error) {
      noteError(name, error);
    }
    return [];
  }

  function note(kind: "missing-file" | "unreadable", file: string, message: string): void {
    problems.note({ kind, file, line: null, message });
  }

  function noteError(file: string, error: unknown): void {
    const message = describeReadError(error);
    note(message === noSuchFile ? "missing-file" : "unreadable", file, message);
  }
}
