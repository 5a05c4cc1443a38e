import { describeIssues, TaskRequest, TaskStatus } from "@rouse/contract";

/** One line of the file. Bytes, not text: what cannot be read must stay exactly as it is. */
export interface FileLine {
  readonly bytes: Buffer;
  /** A newline, or nothing at the end of the file. The `\r` of a Windows line end is white space to JSON. */
  readonly end: Buffer;
}

/** What Rouse reads in a line. */
export type LineContent =
  | { readonly kind: "blank" }
  | { readonly kind: "unreadable"; readonly problem: string }
  | {
      readonly kind: "task";
      readonly text: string;
      readonly request: TaskRequest;
      /** The status that the line gives, and the one that Rouse wrote there last. */
      readonly status: TaskStatus | null;
      readonly written: TaskStatus | null;
      /** The whole object. */
      readonly said: Readonly<Record<string, unknown>>;
    };

const newline = 0x0a;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** `null`: there are more than `most`. */
export function splitLines(bytes: Buffer, most: number): { mark: Buffer; lines: FileLine[] } | null {
  const mark = bytes.subarray(0, bytes.indexOf(byteOrderMark) === 0 ? byteOrderMark.length : 0);
  const lines: FileLine[] = [];
  for (let at = mark.length; at < bytes.length; ) {
    if (lines.length === most) return null;
    const found = bytes.indexOf(newline, at);
    const next = found === -1 ? bytes.length : found + 1;
    const ends = found === -1 ? bytes.length : found;
    lines.push({ bytes: bytes.subarray(at, ends), end: bytes.subarray(ends, next) });
    at = next;
  }
  return { mark, lines };
}

export const joinLines = (mark: Buffer, lines: readonly FileLine[]): Buffer =>
  Buffer.concat([mark, ...lines.flatMap(({ bytes, end }) => [bytes, end])]);

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function readLine({ bytes }: Pick<FileLine, "bytes">): LineContent {
  const said = parse(bytes);
  if (typeof said === "string") return { kind: "unreadable", problem: said };
  if (said === null) return { kind: "blank" };
  const request = TaskRequest.safeParse(requestIn(said.object));
  if (!request.success) return { kind: "unreadable", problem: describeIssues(renamed(request.error.issues), "task") };
  const status = readStatus(said.object["status"]);
  if (status === undefined)
    return { kind: "unreadable", problem: `status: one of ${TaskStatus.options.join(", ")}, or none` };
  const written = readStatus(said.object["rouse_status"]) ?? null;
  return { kind: "task", text: said.text, request: request.data, status, written, said: said.object };
}

/** `null` for a blank line, a sentence for a line that is no object. */
function parse(bytes: Buffer): { text: string; object: Record<string, unknown> } | string | null {
  try {
    const text = strict.decode(bytes);
    if (text.trim() === "") return null;
    const object: unknown = JSON.parse(text);
    if (typeof object !== "object" || object === null || Array.isArray(object)) return "it is not a JSON object";
    return { text, object: object as Record<string, unknown> };
  } catch {
    return "it is not valid JSON";
  }
}

/** The names in the file, and those of the API. */
const names = {
  id: "taskId",
  title: "title",
  priority: "priority",
  timeout_minutes: "timeoutMinutes",
  on_timeout: "onTimeout",
  depends_on: "dependsOn",
  owner: "owner",
} as const;

function requestIn(said: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const given = Object.entries(names).filter(([name]) => said[name] !== undefined && said[name] !== null);
  return Object.fromEntries(given.map(([name, ours]) => [ours, said[name]]));
}

type Issue = { readonly path: readonly PropertyKey[]; readonly message: string };

/** Problems are told with the names in the file, which its author knows. */
const renamed = (issues: readonly Issue[]): Issue[] =>
  issues.map(({ path: [first, ...rest], message }) => {
    const name = Object.entries(names).find(([, ours]) => ours === first)?.[0];
    return { path: name === undefined ? [] : [name, ...rest], message };
  });

/** `undefined`: it is no status. */
function readStatus(said: unknown): TaskStatus | null | undefined {
  if (said === undefined || said === null) return null;
  return TaskStatus.safeParse(said).data;
}
