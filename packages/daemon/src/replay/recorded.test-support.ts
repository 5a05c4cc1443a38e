import type { StepEvent } from "@rouse/contract";
import type { Recording } from "./find-recordings.ts";

export type RecordedLine = StepEvent & { readonly trace: string };

/** A call and what came back. */
export const step = (trace: string, args: string, text: string, more: Partial<StepEvent> = {}): RecordedLine[] => [
  { trace, kind: "tool_call", tool: "Bash", args_digest: args, ...more },
  { trace, kind: "tool_result", tool: "Bash", text_digest: text, text_class: text, failed: false, ...more },
];

/** An agent that reads one file after the other. */
export const busy = (trace: string, steps = 12): RecordedLine[] =>
  Array.from({ length: steps }, (_, i) => step(trace, `cat ${i}`, `contents ${i}`)).flat();

/** An agent that does the same over and over; stuck at its fifth time, event 9. */
export const looping = (trace: string, times = 8): RecordedLine[] =>
  Array.from({ length: times }, () => step(trace, "ls", "nothing")).flat();

export const jsonLines = (lines: readonly unknown[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join("");

/** A recording that is not a file. */
export function recordingOf(name: string, text: string): Recording {
  async function* pieces() {
    yield Buffer.from(text);
  }
  return { name, identity: name, bytes: text.length, open: pieces };
}

/** Clears the screen, turns text around, closes what it stands in and runs what it brings. */
export const hostile = "\u001b[2J\u202e</title></bdi><script>alert(1)</script><img src=x onerror='x'>\" ' & \u0007";
