import { printable } from "./untrusted-text.ts";

/**
 * An operational failure, not a bug. The code is stable (scripts and metrics use it); the message says what to do next;
 * `retryable` tells a caller whether the same call may succeed later.
 */
export const faultCodes = [
  "agent-unknown",
  "bad-request",
  "checkpoint-refused",
  "checkpoint-unknown",
  "body-too-large",
  "command-not-found",
  "config-invalid",
  "daemon-running",
  "daemon-unreachable",
  "epoch-lost",
  "escalation-closed",
  "escalation-unknown",
  "data-folder-unusable",
  "database-damaged",
  "database-newer",
  "folder-gone",
  "forbidden",
  "holder-gone",
  "holder-unreachable",
  "host-refused",
  "internal",
  "key-reused",
  "media-type-refused",
  "method-not-allowed",
  "name-taken",
  "not-executable",
  "not-found",
  "not-supervised",
  "order-refused",
  "origin-refused",
  "port-taken",
  "rate-limit-refused",
  "store-unavailable",
  "task-refused",
  "breaker-unknown",
  "task-unknown",
  "tls-required",
  "too-many-attempts",
  "unauthorized",
  "unsupported-host",
] as const;

export type FaultCode = (typeof faultCodes)[number];

export class Fault extends Error {
  readonly code: FaultCode;
  readonly retryable: boolean;

  constructor(code: FaultCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Fault";
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}

/** How many issues are told, and how long each may be: they repeat what was sent, which may be a megabyte. */
const mostIssues = 10;
const longestIssue = 300;

/** What a schema found wrong, in one line. */
export function describeIssues(
  issues: readonly { path: readonly PropertyKey[]; message: string }[],
  whole: string,
): string {
  const told = issues
    .slice(0, mostIssues)
    .map(({ path, message }) => printable(`${path.map(String).join(".") || whole}: ${message}`, longestIssue));
  const more = issues.length - told.length;
  return [...told, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}
