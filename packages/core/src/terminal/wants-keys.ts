import type { AgentFamily } from "@rouse/contract";
import type { Input } from "./find-input.ts";
import { cut, longestLine } from "./mask-text.ts";
import type { Screen } from "./reading.ts";
import { type Speaker, speakerOf } from "./speaker.ts";

/** A dialog and its answers fit into so many rows. */
const dialogRows = 12;
/** A question stands right above its input, but for a remark or two. */
const questionRows = 4;
/** The longest footer: a few lines of the program and the user. More rows are something that opened. */
const footerRows = 4;

/** Answers that are one key, as they are offered in a few languages. */
const keysOffered: readonly RegExp[] = [
  /(?<!\w)[[(<] ?(?:enter|return|eingabe|entrée|intro|invio|esc(?:ape)?|space|tab|y(?:es)?|no?|ja?|nein|oui|non|sí?) ?[\])>]/i,
  /(?<!\w)[[(<] ?[a-z](?: ?[/|,] ?[a-z?]){1,6} ?[\])>]/i,
  /(?<![\w/])(?:yes ?[/|] ?no?|y ?[/|] ?n|ja? ?[/|] ?n(?:ein)?|o(?:ui)? ?[/|] ?n(?:on)?|s[ií]? ?[/|] ?no?)(?![\w/])/i,
  /\b(?:press|hit|push) (?:(?:any|a|the) )?(?:key|enter|return|esc|space|[[<])/i,
  /\bany key\b|\b(?:enter|return|esc) ?=|\b(?:enter|return) to (?:confirm|continue|accept|select|submit|choose|proceed)\b/i,
  /\b(?:taste|eingabetaste)\b.{0,30}\bdr(?:ü|ue)ck|\bdr(?:ü|ue)ck.{0,30}\b(?:taste|eingabetaste|enter)\b/i,
  /\b(?:appuyez|appuyer|pulse|presione|premi|premere)\b/i,
];

const question = /[?？]\s{0,4}(?:[[(<:=].{0,80})?[\s│┃║]*$/;
/** A program's own question that any text may answer: after Escape. */
const invites: Partial<Readonly<Record<AgentFamily, RegExp>>> = {
  "claude-code": /^\s{1,4}⎿\s{1,4}Interrupted · What should Claude do instead\?$/,
};
/** An unknown frame. A corner or a side alone is how programs hang output below a row. */
const framed = /^\s*(?:[┃║╌]|[╔╚┌└┏┗╭╰][─━═]|│.{0,2000}│$)/;
/** Gemini CLI keeps tool output in round frames; those that ask begin with a question mark. */
const foreignToGemini = /^\s*(?:[┃║╌]|[╔╚┌└┏┗][─━═]|│ \?)/;
/** opencode draws a bar beside everything that was said or printed; its questions have a sign of their own. */
const foreignToOpencode = /^\s*(?:[║╌]|[╔╚┌└┏┗╭╰][─━═]|│.{0,2000}│$|┃\s+△)/;

/**
 * Whether something around an input seems to want keys: a question, an offer of keys, a dialog. A typed line with Enter
 * might answer it, so a doubtful one counts.
 */
export function wantsKeys({ rows }: Screen, { from, to }: Input, family: AgentFamily): boolean {
  const shown = spoken(rows, family);
  const above = shown.filter(({ at }) => at < from);
  const below = shown.filter(({ at }) => at > to);
  const near = [...above.slice(-dialogRows), ...below];
  if (near.some(({ row }) => keysOffered.some((offer) => offer.test(row)))) return true;
  if (below.length > footerRows || below.some(({ row }) => question.test(row) || framed.test(row))) return true;
  if (above.slice(-questionRows).some(isAsked)) return !isInvited(above, family);
  if (family === "gemini-cli") return near.some(({ row }) => foreignToGemini.test(row));
  if (family === "opencode") return near.some(({ row }) => foreignToOpencode.test(row));
  return framed.test(above.at(-1)?.row ?? "");
}

const isAsked = ({ row, speaker }: Shown): boolean => speaker !== "person" && question.test(row);

/** The program's own question was the last thing said, in one row or two, and nothing else is asked above it. */
function isInvited(above: readonly Shown[], family: AgentFamily): boolean {
  const near = above.slice(-questionRows);
  for (const many of [1, 2]) {
    const [first = "", ...rest] = near.slice(-many).map(({ row }) => row);
    const said = [first, ...rest.map((row) => row.trim())].join(" ");
    if (invites[family]?.test(said)) return !near.slice(0, -many).some(isAsked);
  }
  return false;
}

interface Shown {
  readonly at: number;
  readonly row: string;
  readonly speaker: Speaker;
}

/** The rows with words; drawn lines say nothing. */
function spoken(rows: readonly string[], family: AgentFamily): readonly Shown[] {
  const shown: Shown[] = [];
  let speaker: Speaker = "program";
  for (const [at, whole] of rows.entries()) {
    const row = cut(whole, longestLine).trimEnd();
    speaker = speakerOf(row, speaker, family);
    if (/[\p{L}\p{N}?]/u.test(row)) shown.push({ at, row, speaker });
  }
  return shown;
}
