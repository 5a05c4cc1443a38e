import { Fault } from "@rouse/contract";
import type { Trouble } from "./thread-messages.ts";

/** Errors lose their class and fields between threads; these two carry them across. */
export function toTrouble(error: unknown): Trouble {
  const detail = error instanceof Error ? String(error.cause ?? error.stack) : String(error);
  if (error instanceof Fault) {
    return { code: error.code, message: error.message, retryable: error.retryable, detail };
  }
  return { code: null, message: textOf(error), retryable: false, detail };
}

export function fromTrouble({ code, message, retryable, detail }: Trouble): Error {
  return code === null ? new Error(message, { cause: detail }) : new Fault(code, message, { retryable, cause: detail });
}

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
