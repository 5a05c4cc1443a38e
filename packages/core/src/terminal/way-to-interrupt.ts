import type { AgentFamily, ContainRefusal } from "@rouse/contract";
import { findInput, type TypingScreen } from "./find-input.ts";
import { cut, longestLine } from "./mask-text.ts";
import type { KnownPattern } from "./patterns.ts";
import { asks } from "./place-to-type.ts";
import { bottomOf } from "./read-screen.ts";

/**
 * Where a program says that Escape interrupts its turn, while it does. Claude Code: in the footer below its input,
 * where its model never writes. Codex: in its status row.
 */
const saysSo: Readonly<Partial<Record<AgentFamily, { readonly row: RegExp; readonly belowInput: boolean }>>> = {
  "claude-code": { row: /(?:^\s*|· )esc to interrupt(?=$| ·|\s*$)/, belowInput: true },
  codex: { row: /^• [^(]{1,60}\((?:\d+[hms] ?){1,3} • esc to interrupt\)/, belowInput: false },
};

type WayToInterrupt =
  | { readonly kind: "escape" }
  | { readonly kind: "refused"; readonly because: Extract<ContainRefusal, "no-way" | "not-busy" | "asks"> };

/**
 * Whether Escape would interrupt the turn now. In a question it means *no*, at rest it empties the input or opens a
 * menu, so it is pressed only while the program says that it interrupts.
 */
export function findWayToInterrupt(
  screen: TypingScreen,
  family: AgentFamily,
  patterns: readonly KnownPattern[],
): WayToInterrupt {
  const said = saysSo[family];
  if (said === undefined) return { kind: "refused", because: "no-way" };
  if (asks(bottomOf(screen), patterns)) return { kind: "refused", because: "asks" };
  return saysRow(screen, family, said) ? { kind: "escape" } : { kind: "refused", because: "not-busy" };
}

function saysRow(
  screen: TypingScreen,
  family: AgentFamily,
  { row, belowInput }: { readonly row: RegExp; readonly belowInput: boolean },
): boolean {
  const input = findInput(screen, family);
  if (belowInput && input === null) return false;
  const rows = belowInput ? screen.rows.slice((input?.to ?? 0) + 1) : bottomOf(screen).rows;
  return rows.some((one) => row.test(cut(one, longestLine)));
}

/** The same for Claude Code with JSON lines as input. */
export const interruptLine = (): string =>
  JSON.stringify({ type: "control_request", request_id: "rouse-interrupt", request: { subtype: "interrupt" } });
