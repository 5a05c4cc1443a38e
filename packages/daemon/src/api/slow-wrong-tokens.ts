import type { DurationMs, MonoMs } from "@rouse/contract";

/** How many wrong tokens from one address are answered at once: an old token may be in ten places. */
const answeredAtOnce = 10;
const firstDelay: DurationMs = 100;
const longestDelay: DurationMs = 4000;
/** How many answers to one address may be delayed; each keeps a connection open. */
const mostWaiting = 8;
/** After so long without a wrong token, an address starts anew. */
const forgottenAfter: DurationMs = 60_000;
const mostAddresses = 1000;

export const retryAfterSeconds = longestDelay / 1000;

interface Guesses {
  wrong: number;
  lastAt: MonoMs;
  waiting: number;
}

/** How a wrong token is answered: at once, after a delay, or with "too many". */
export type Treatment =
  | { readonly kind: "answer" }
  | { readonly kind: "wait"; readonly delay: DurationMs; readonly over: () => void }
  | { readonly kind: "too-many" };

/** A caller on this machine may use any of its 16 million loopback addresses: they count as one. */
function callerOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  return plain === "::1" || plain.startsWith("127.") ? "this machine" : plain;
}

/**
 * Makes guessing slow, by remote address. Only wrong tokens are counted or delayed: a guesser on this machine must not
 * keep out its owner, who has the same address. A right token does not reset the count, or a busy agent would do so for
 * the guesser.
 */
export function slowWrongTokens() {
  const known = new Map<string, Guesses>();

  function guessesOf(address: string, now: MonoMs): Guesses {
    const before = known.get(address);
    const isForgotten = before === undefined || (before.waiting === 0 && now - before.lastAt > forgottenAfter);
    const guesses = isForgotten ? { wrong: 0, lastAt: now, waiting: 0 } : before;
    known.delete(address);
    if (known.size >= mostAddresses) known.delete(known.keys().next().value as string);
    known.set(address, guesses);
    return guesses;
  }

  return (address: string, now: MonoMs): Treatment => {
    const guesses = guessesOf(callerOf(address), now);
    guesses.wrong += 1;
    guesses.lastAt = now;
    if (guesses.wrong <= answeredAtOnce) return { kind: "answer" };
    if (guesses.waiting >= mostWaiting) return { kind: "too-many" };
    guesses.waiting += 1;
    const doublings = Math.min(guesses.wrong - answeredAtOnce - 1, 10);
    const over = (): void => {
      guesses.waiting -= 1;
    };
    return { kind: "wait", delay: Math.min(firstDelay * 2 ** doublings, longestDelay), over };
  };
}
