import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder that holds package.json, wherever the command was called from. */
export const repository = dirname(dirname(fileURLToPath(import.meta.url)));

export const inRepository = (...parts) => join(repository, ...parts);

/** Where generated files that nobody ships are kept; `npm ci` clears it. */
export const cacheFolder = inRepository("node_modules", ".cache", "rouse");

/** Ends the script with one sentence instead of a stack trace. */
export function giveUp(sentence) {
  console.error(`rouse: ${sentence}`);
  process.exit(1);
}
