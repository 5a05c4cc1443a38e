import { setTimeout as pause } from "node:timers/promises";
import type { AgentFamily, EpochMs, NudgeDelivery, NudgeRefusal } from "@rouse/contract";
import {
  expectEcho,
  findPlaceToType,
  isTaken,
  lineToType,
  type Pattern,
  type Place,
  readEcho,
  type Typed,
  type TypingScreen,
} from "@rouse/core";
import type { KeptScreen } from "../terminal/keep-screen.ts";

/** An agent's terminal, to type into by program. */
export interface Keyboard {
  readonly screen: KeptScreen;
  readonly family: AgentFamily;
  patterns(): readonly Pattern[];
  /** A person has it open. */
  attached(): boolean;
  /** Since a person last pressed a key there. */
  untouchedMs(): number;
  /** What is typed reaches the known program. */
  inFront(): boolean;
  over(): boolean;
  /** Called with the words right before they are typed. */
  said(text: string, nudge: string): void;
  /** The program has taken what was typed. */
  taken(nudge: string): void;
  write(bytes: Buffer): void;
}

export interface Nudge {
  readonly id: string;
  readonly text: string;
  readonly notAfter: EpochMs;
  /** Also while a person has the terminal open but has left it alone. */
  readonly whenIdle: boolean;
  /** Called before anything reaches the agent; `false`: nothing may reach it. */
  begin(): boolean;
}

type Seen<T> = T | { readonly kind: "refused"; readonly because: NudgeRefusal };
type FreePlace = Extract<Place, { kind: "place" }> & { readonly screen: TypingScreen };

/** Between two looks that have to show the same: a program that is drawing changes its screen more often. */
const calmMs = 80;
/** After the last key: an Enter that follows sooner counts as part of a paste (in Codex within 120 ms). */
const beforeEnterMs = 200;
/** A running tool keeps words waiting for as long as it takes, so later looks are rare. */
const takenLookMs = [100, 100, 100, 200, 500] as const;
const waitingLookMs = 1000;
const longestUnrest = 1000;
const echoWithinMs = 3000;
const echoLookMs = 15;
/** A person who has pressed no key for so long is not in the middle of anything. */
const leftAloneMs = 60_000;
/** In bytes. Programs take larger pieces for a paste, and do not show what is pasted. */
const longestPiece = 512;
const enter = Buffer.from("\r");

/**
 * Types a line and Enter, the last resort of all ways to reach an agent. Everything that speaks against typing is
 * looked for right before the first key, between pieces of a long line, and again before Enter. When something is
 * found, the words typed so far stay on the line: a person sees them there, the next nudge is refused for them, and the
 * keys that would erase them might do anything in a program that did not even show them.
 */
export async function typeNudge(keyboard: Keyboard, nudge: Nudge): Promise<NudgeDelivery> {
  const line = lineToType(nudge.text);
  const rest = line === "" ? refused("no-input") : await awaitRest(keyboard, nudge);
  if (rest.kind === "refused") return notSent(rest.because);
  if (!nudge.begin()) return notSent("no-input");
  // `begin` wrote to the disk, which took a moment.
  const place = await lookForPlace(keyboard, nudge);
  if (place.kind === "refused") return notSent(place.because);
  keyboard.said(line, nudge.id);
  const typed = await typeLine(keyboard, nudge, place, line);
  if (typed.kind === "refused") return notSent(typed.because);
  const calm = await awaitCalm(keyboard, nudge, typed);
  if (calm.kind === "refused") return notSent(calm.because);
  keyboard.write(enter);
  void awaitTaken(keyboard, nudge, typed.typed);
  return { kind: "sent", channel: "terminal", echoed: true };
}

/** Not awaited: words that are never seen to be taken stay without a receipt. */
async function awaitTaken(keyboard: Keyboard, { id, notAfter }: Nudge, typed: Typed): Promise<void> {
  for (let looks = 0; !keyboard.over() && Date.now() <= notAfter; looks++) {
    if (isTaken(await lookAt(keyboard), typed)) return keyboard.taken(id);
    await pause(takenLookMs[looks] ?? waitingLookMs, undefined, { ref: false });
  }
}

const refused = (because: NudgeRefusal) => ({ kind: "refused", because }) as const;
export const notSent = (because: Extract<NudgeDelivery, { kind: "not-sent" }>["because"]): NudgeDelivery => ({
  kind: "not-sent",
  because,
});

const lookAt = ({ screen }: Keyboard): Promise<TypingScreen> => screen.settle(() => screen.typingScreen());

/** What speaks against the next key, whatever the screen shows. */
function hindrance(keyboard: Keyboard, { notAfter, whenIdle }: Nudge): NudgeRefusal | null {
  if (keyboard.over()) return "over";
  if (!keyboard.inFront()) return "no-input";
  const isLeftAlone = whenIdle && keyboard.untouchedMs() >= leftAloneMs;
  if (keyboard.attached() && !isLeftAlone) return "attached";
  return Date.now() > notAfter ? "expired" : null;
}

/** While a program redraws, its input may be missing for a moment: only two looks can tell that there is none. */
async function lookForPlace(keyboard: Keyboard, nudge: Nudge): Promise<Seen<FreePlace>> {
  const place = placeOn(await lookAt(keyboard), keyboard, nudge);
  if (place.kind === "place" || (place.because !== "no-input" && place.because !== "full-screen")) return place;
  await pause(calmMs);
  return placeOn(await lookAt(keyboard), keyboard, nudge);
}

function placeOn(screen: TypingScreen, keyboard: Keyboard, nudge: Nudge): Seen<FreePlace> {
  const because = hindrance(keyboard, nudge);
  if (because !== null) return refused(because);
  const place = findPlaceToType(screen, keyboard.family, keyboard.patterns());
  return place.kind === "place" ? { ...place, screen } : place;
}

/** Waits until the place shows the same at two looks. */
async function awaitRest(keyboard: Keyboard, nudge: Nudge): Promise<Seen<FreePlace>> {
  const until = performance.now() + longestUnrest;
  let before: string | null = null;
  for (;;) {
    const place = await lookForPlace(keyboard, nudge);
    if (place.kind === "refused") return place;
    if (place.picture === before) return place;
    if (performance.now() > until) return refused("busy-screen");
    before = place.picture;
    await pause(calmMs);
  }
}

interface TypedLine {
  readonly kind: "typed";
  readonly typed: Typed;
  readonly picture: string;
}

/** Types piece by piece, each once the one before shows on the screen. */
async function typeLine(keyboard: Keyboard, nudge: Nudge, place: FreePlace, line: string): Promise<Seen<TypedLine>> {
  let { screen } = place;
  let last: TypedLine | null = null;
  let soFar = "";
  for (const piece of cutIntoPieces(line)) {
    const because = hindrance(keyboard, nudge);
    if (because !== null) return refused(because);
    soFar += piece;
    const typed = expectEcho(screen, keyboard.family, place.input, soFar);
    keyboard.write(Buffer.from(piece, "utf8"));
    const echo = await awaitEcho(keyboard, nudge, typed);
    if (echo.kind === "refused") return echo;
    screen = echo.screen;
    last = { kind: "typed", typed, picture: echo.picture };
  }
  return last ?? refused("no-input");
}

interface SeenEcho {
  readonly kind: "echoed";
  readonly picture: string;
  readonly screen: TypingScreen;
}

async function awaitEcho(keyboard: Keyboard, nudge: Nudge, typed: Typed): Promise<Seen<SeenEcho>> {
  const until = performance.now() + echoWithinMs;
  for (;;) {
    const screen = await lookAt(keyboard);
    const because = hindrance(keyboard, nudge);
    if (because !== null) return refused(because);
    const echo = readEcho(screen, typed, keyboard.patterns());
    if (echo.kind === "echoed") return { ...echo, screen };
    if (echo.kind === "refused") return echo;
    if (performance.now() > until) return refused("not-echoed");
    await pause(echoLookMs);
  }
}

/** Waits until what was typed shows the same at two looks. The last check before Enter. */
async function awaitCalm(keyboard: Keyboard, nudge: Nudge, { typed, picture }: TypedLine): Promise<Seen<SeenEcho>> {
  const until = performance.now() + longestUnrest;
  let before = picture;
  for (;;) {
    await pause(beforeEnterMs);
    const echo = await awaitEcho(keyboard, nudge, typed);
    if (echo.kind === "refused" || echo.picture === before) return echo;
    if (performance.now() > until) return refused("busy-screen");
    before = echo.picture;
  }
}

/** No character is cut in half. */
function cutIntoPieces(line: string): string[] {
  const pieces: string[] = [];
  let piece = "";
  let size = 0;
  for (const character of line) {
    const bytes = Buffer.byteLength(character);
    if (size + bytes > longestPiece) {
      pieces.push(piece);
      piece = "";
      size = 0;
    }
    piece += character;
    size += bytes;
  }
  return piece === "" ? pieces : [...pieces, piece];
}
