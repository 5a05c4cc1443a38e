import type { Line } from "./open-line.ts";
import { type Call, faultOf, send } from "./send.ts";

/** For calls that create something: with a key of your own, a call without an answer can be repeated and acts once. */
export interface Once {
  readonly key?: string;
}

/** Resolves with what Rouse answered, or rejects with the Fault it answered. */
export async function ask<T>(line: Line, call: Call): Promise<T> {
  const answer = await send(line, call);
  if (!answer.ok || answer.body === null) throw faultOf(line, answer);
  return answer.body as T;
}

/** A page of a list, whatever it is a list of. */
interface Page {
  readonly next: string | null;
}

/** Every page of a list, one after the other. Entries that come or go meanwhile may be missing; no others are. */
export async function askAll<P extends Page>(
  line: Line,
  path: string,
  search = new URLSearchParams(),
): Promise<[P, ...P[]]> {
  const pages: [P, ...P[]] = [await ask<P>(line, { path: withSearch(path, search) })];
  for (let next = pages[0].next; typeof next === "string"; ) {
    search.set("cursor", next);
    const page = await ask<P>(line, { path: withSearch(path, search) });
    pages.push(page);
    next = page.next;
  }
  return pages;
}

/** The given fields, lists separated by commas. */
export function searchFor(query: object): URLSearchParams {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search;
}

export const withSearch = (path: string, search: URLSearchParams): string =>
  search.size === 0 ? path : `${path}?${search}`;
