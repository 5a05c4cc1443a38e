import type { DurationMs, MonoMs } from "@rouse/contract";

/** Wrong tokens from one address that are answered at once: somebody may have the old one in ten places. */
const answeredAtOnce = 10;
const firstDelay: DurationMs = 100;
const longestDelay: DurationMs = 4000;
/** Answers that are held back for one address; each holds a connection. */
const mostWaiting = 8;
/** Without a wrong one for so long, an address starts anew. */
const forgottenAfter: DurationMs = 60_000;
const mostAddresses = 1000;

export const retryAfterSeconds = longestDelay / 1000;

interface Guesses {
  wrong: number;
  lastAt: MonoMs;
  waiting: number;
}

/** How a wrong token is answered: at once, after a while, or not as such any more. */
export type Treatment =
  | { readonly kind: "answer" }
  | { readonly kind: "wait"; readonly delay: DurationMs; readonly over: () => void }
  | { readonly kind: "too-many" };

/** Whoever is on this machine may ask from any of its own addresses, of which there are 16 million: they are one caller. */
function callerOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  return plain === "::1" || plain.startsWith("127.") ? "this machine" : plain;
}

/**
 * Makes guessing slow, by remote address. Only wrong tokens are ever counted or held back: whoever guesses from this machine must not be able to keep
 * its owner out, who asks from the same address. Right ones forgive nothing either, or a busy agent would.
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
