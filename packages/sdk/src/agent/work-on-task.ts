import type { OwnBreakers } from "./calls/own-breakers.ts";
import type { Identity } from "./identity.ts";
import type { Link } from "./link.ts";
import { runSteps } from "./run-steps.ts";
import { saveInOrder } from "./save-in-order.ts";
import { openSpool } from "./spool.ts";
import type { Environment } from "./surroundings.ts";

export interface TaskParts {
  readonly who: Identity & { readonly task: string };
  readonly env: Environment;
  readonly link: Link;
  readonly breakers: OwnBreakers;
  /** Its life is known. */
  readonly mayBegin: () => boolean;
  readonly isKeptOut: () => boolean;
  readonly life: () => number | null;
  readonly phase: (name: string) => void;
  readonly progress: (text: string) => void;
  readonly onSaved: (step: number) => void;
}

/** Checkpoints and steps: loaded only in an agent that has a task. */
export function workOnTask(parts: TaskParts) {
  const { who, env } = parts;
  const saver = saveInOrder({ ...parts, openSpool: () => openSpool(env, who.id, who.task) });
  const { checkpoint, wake, flush } = saver;
  return { checkpoint, wake, flush, steps: runSteps({ ...parts, saver }) };
}
