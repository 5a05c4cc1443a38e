import { findingKinds } from "@rouse/contract";
import { inWords } from "./in-words.ts";

/** What an incident is about. Somebody may have a question about an agent that nothing is found of. */
export const wordIllness = ({ illness, cause }: { readonly illness: string; readonly cause: string }): string =>
  (findingKinds as readonly string[]).includes(cause) ? `${illness}: ${inWords(cause)}` : "a question, nothing found";
