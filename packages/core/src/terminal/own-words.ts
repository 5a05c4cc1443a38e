import { squeeze } from "./find-input.ts";

/** A shorter piece of a text could be anybody's words. */
const tellingLength = 16;
const promptSymbols = /^[❯›>$#%»*]+/;

/**
 * The rows with blanks in place of those that show what was typed by us: that is no work of the agent's, whether its terminal echoes it, the agent
 * repeats it, or a narrow screen breaks it into pieces.
 */
export function blankOwnWords(rows: readonly string[], said: string): readonly string[] {
  const own = squeeze(said);
  if (own === "") return rows;
  const beginning = own.slice(0, tellingLength);
  let goesOn = false;
  return rows.map((row) => {
    const piece = squeeze(row).replace(promptSymbols, "");
    const telling = piece.length >= tellingLength && (own.includes(piece) || piece.includes(beginning));
    const isOwn = piece !== "" && (telling || piece === own || (goesOn && own.includes(piece)));
    goesOn = isOwn;
    return isOwn ? "" : row;
  });
}
