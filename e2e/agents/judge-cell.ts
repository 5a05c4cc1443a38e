import type { Eye, SavedEvent } from "@rouse/contract";
import type { Cell } from "./cells.ts";
import type { Allowed, Story, Told } from "./story.ts";

export type Verdict =
  | { readonly kind: "holds" }
  | { readonly kind: "cannot-be-known"; readonly because: string }
  | { readonly kind: "fails"; readonly because: string };

export interface Played {
  readonly cell: Cell;
  readonly story: Story;
  /** What Rouse said, or what it should have said and did not. */
  readonly told: Told | Error;
  readonly eyes: readonly Eye[];
  readonly events: readonly SavedEvent[];
}

const doings: Readonly<Record<string, Allowed | "stop">> = {
  NUDGE_SENT: "nudge",
  RESTART_ORDERED: "restart",
  TERMINATION_ORDERED: "stop",
};
const illnesses: readonly string[] = ["STUCK", "FAILING", "UNRESPONSIVE"];

/** Harm comes first: what cannot be known excuses saying less, never doing something to an agent that is well. */
export function judgeCell({ cell, story, told, eyes, events }: Played): Verdict {
  const harm = harmIn(events, story);
  if (harm !== null) return { kind: "fails", because: harm };
  if (told instanceof Error) {
    if (cell.cannot !== undefined) return { kind: "cannot-be-known", because: cell.cannot };
    return { kind: "fails", because: told.message };
  }
  const { eyes: wanted } = cell;
  if (wanted !== undefined && !wanted.some((eye) => eyes.includes(eye)))
    return { kind: "fails", because: `seen by ${eyes.join(", ") || "nothing"}, not by ${wanted.join(" or ")}` };
  return { kind: "holds" };
}

/** That its process is over is a fact, not a judgement. */
function callsIll({ type, payload }: SavedEvent): boolean {
  const { to = "", reason } = payload as { to?: string; reason?: string };
  return type === "HEALTH_STATE_CHANGED" && illnesses.includes(to) && reason !== "process-exited";
}

function harmIn(events: readonly SavedEvent[], { may, well }: Story): string | null {
  const done = events.find(({ type }) => {
    const doing = doings[type];
    return doing !== undefined && !(may as readonly string[]).includes(doing);
  });
  if (done !== undefined) return `${done.type}, and it was well`;
  const called = events.find(callsIll);
  if (!well || called === undefined) return null;
  const { to, reason } = called.payload as { to: string; reason: string };
  return `called ${to} (${reason}), and it was well`;
}
