import { type EpochMs, type ExitStatus, toIso } from "@rouse/contract";
import { writeJson } from "../surroundings.ts";
import type { CleanLine } from "../terminal/clean-output.ts";

export type OutputStyle = "plain" | "timestamps" | "json";

/** One line of an agent's output. `at` is `null` when it is not known any more when it was written. */
export function showOutputLine({ text, offset }: CleanLine, at: EpochMs | null, style: OutputStyle): string {
  switch (style) {
    case "plain":
      return `${text}\n`;
    case "timestamps":
      return `${at === null ? "-".padEnd(unknownWidth) : toIso(at)} ${text}\n`;
    case "json":
      return `${writeJson({ at: at === null ? null : toIso(at), offset, text }, 0)}\n`;
  }
}

const unknownWidth = "2026-02-05T10:30:07.123Z".length;

export const describeLoss = (bytes: number): string =>
  `${bytes.toLocaleString("en")} bytes of output are missing here: they were not kept, or newer output took their place`;

export function describeEnd(agentId: string, exit: ExitStatus | null): string {
  if (exit === null || exit.cause === "unseen") return `${agentId} has ended; nobody saw how`;
  const how = exit.signal === null ? `with ${exit.code ?? "an unknown code"}` : `by ${exit.signal}`;
  switch (exit.cause) {
    case "by-itself":
      return `${agentId} has ended ${how}`;
    case "person":
      return `${agentId} has ended ${how}, as somebody at its terminal wanted`;
    case "stopped":
      return `${agentId} was stopped by Rouse (ended ${how})`;
    case "killed":
      return `${agentId} was killed by somebody else (ended ${how})`;
  }
}
