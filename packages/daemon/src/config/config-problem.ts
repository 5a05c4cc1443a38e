import { printable } from "@rouse/contract";

export type PathPart = string | number;

/** Where the user wrote something. `file` is null for the environment. */
export interface Place {
  readonly file: string | null;
  readonly path: string;
  readonly line?: number;
  readonly column?: number;
}

/** Finds the place of a value, or of the key that names it. */
export type Locate = (path: readonly PathPart[], part?: "key" | "value") => Place;

export interface ConfigProblem extends Place {
  readonly message: string;
  readonly suggestion?: string;
}

/** `config.yaml:7:5 health_monitoring.heartbeat.interval_secs: unknown key; did you mean interval_seconds?` */
export function describeProblem(problem: ConfigProblem): string {
  const hint = problem.suggestion === undefined ? "" : `; did you mean ${problem.suggestion}?`;
  return `${describePlace(problem)}: ${problem.message}${hint}`;
}

export function describePlace(place: Place): string {
  if (place.file === null) return `environment ${place.path}`;
  const line = place.line === undefined ? "" : `:${place.line}`;
  const column = place.column === undefined ? "" : `:${place.column}`;
  const path = place.path === "" ? "" : ` ${place.path}`;
  return `${printable(place.file)}${line}${column}${path}`;
}

/** Keys come from the file and are as untrusted as values: a path is made one printable line. */
export const describePath = (path: readonly PathPart[]): string => path.map((part) => cut(String(part))).join(".");

/** What was found, cut short: it may be a secret that was pasted into the wrong place. */
export function describeFound(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (typeof value === "string") return `"${cut(value)}"`;
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a group of settings";
  return cut(String(value));
}

export const cut = (text: string): string => printable(text, 40);

/** Settings from one source. `locate` takes a path inside the settings and says where the user wrote it. */
export interface Layer {
  readonly values: unknown;
  readonly locate: Locate;
}

export const noSuchFile = "there is no such file";

/** Why a file could not be read, without its name. */
export function describeReadError(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOENT" || code === "ENOTDIR") return noSuchFile;
  if (code === "EACCES" || code === "EPERM") return "may not be read: permission denied";
  if (code === "EISDIR") return "is a folder, expected a file";
  if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return "is not UTF-8 text";
  return `could not be read: ${code || "unknown error"}`;
}
