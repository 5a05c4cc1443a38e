import { canonicalJson } from "@rouse/contract";
import { isObject } from "../read-recovery.ts";
import { parseOrNull } from "../send.ts";
import type { WaitingCheckpoint } from "./spool.ts";
import { hashOf } from "./surroundings.ts";

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
