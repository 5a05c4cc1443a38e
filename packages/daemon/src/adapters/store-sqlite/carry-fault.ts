import { Fault } from "@rouse/contract";
import type { PackedFault } from "./thread-messages.ts";

/** Errors lose their class and fields between threads; packFault and unpackFault carry them across. */
export function packFault(error: unknown): PackedFault {
  const detail = error instanceof Error ? String(error.cause ?? error.stack) : String(error);
  if (error instanceof Fault) {
    return { code: error.code, message: error.message, retryable: error.retryable, detail };
  }
  return { code: null, message: textOf(error), retryable: false, detail };
}

export function unpackFault({ code, message, retryable, detail }: PackedFault): Error {
  return code === null ? new Error(message, { cause: detail }) : new Fault(code, message, { retryable, cause: detail });
}

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
