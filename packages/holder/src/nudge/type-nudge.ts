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

/** An agent's terminal, for somebody who is not a person. */
export interface Keyboard {
  readonly screen: KeptScreen;
  readonly family: AgentFamily;
  patterns(): readonly Pattern[];
  /** Somebody sits in front of it. */
  attached(): boolean;
  /** Since anybody last pressed a key there. */
  untouchedMs(): number;
  /** What is typed comes to the program that is known. */
  inFront(): boolean;
  over(): boolean;
  /** What is going to be typed. */
  said(text: string, nudge: string): void;
  /** Its program has taken what was typed. */
  taken(nudge: string): void;
  write(bytes: Buffer): void;
}

export interface Nudge {
  readonly id: string;
  readonly text: string;
  readonly notAfter: EpochMs;
  /** Also where somebody sits, when they have left it alone. */
  readonly whenIdle: boolean;
  /** Has to be called before anything reaches the agent, and to agree. */
  begin(): boolean;
}

type Seen<T> = T | { readonly kind: "refused"; readonly because: NudgeRefusal };
type FreePlace = Extract<Place, { kind: "place" }> & { readonly screen: TypingScreen };

/** Between two looks that have to show the same: a program that draws does so more often. */
const calmMs = 80;
/** After the last key: programs take an Enter that follows sooner for part of something pasted (Codex within 120 ms). */
const beforeEnterMs = 200;
/** A tool that runs keeps words waiting for as long as it takes: those are looked after at ease. */
const takenLookMs = [100, 100, 100, 200, 500] as const;
const waitingLookMs = 1000;
const longestUnrest = 1000;
const echoWithinMs = 3000;
const echoLookMs = 15;
/** Who has pressed no key for so long is not in the middle of anything. */
const leftAloneMs = 60_000;
/** Larger pieces are taken for something pasted, and what is pasted is not shown. */
const longestPiece = 512;
const enter = Buffer.from("\r");

/**
 * Types a line and Enter, the last resort of all ways to reach an agent. Everything that speaks against it is looked for right before the first
 * key, between pieces of a long line, and again before Enter. When something does, what was typed so far stays on the line: a person sees it there,
 * the next nudge is refused for it, and the keys that would erase it might do anything in a program that did not even show it.
 */
export async function typeNudge(keyboard: Keyboard, nudge: Nudge): Promise<NudgeDelivery> {
  const line = lineToType(nudge.text);
  const rest = line === "" ? refused("no-input") : await awaitRest(keyboard, nudge);
  if (rest.kind === "refused") return notSent(rest.because);
  if (!nudge.begin()) return notSent("no-input");
  // Writing that down took a moment.
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

/** Nobody waits for this: what is never seen to be taken stays without a receipt. */
async function awaitTaken(keyboard: Keyboard, { id, notAfter }: Nudge, typed: Typed): Promise<void> {
  for (let looks = 0; !keyboard.over() && Date.now() <= notAfter; looks++) {
    if (isTaken(await lookAt(keyboard), typed)) return keyboard.taken(id);
    await pause(takenLookMs[looks] ?? waitingLookMs, undefined, { ref: false });
  }
}

const refused = (because: NudgeRefusal) => ({ kind: "refused", because }) as const;
const notSent = (because: NudgeRefusal): NudgeDelivery => ({ kind: "not-sent", because });

const lookAt = ({ screen }: Keyboard): Promise<TypingScreen> => screen.settle(() => screen.typingScreen());

/** What speaks against the next key, whatever the screen shows. */
function hindrance(keyboard: Keyboard, { notAfter, whenIdle }: Nudge): NudgeRefusal | null {
  if (keyboard.over()) return "over";
  if (!keyboard.inFront()) return "no-input";
  const isLeftAlone = whenIdle && keyboard.untouchedMs() >= leftAloneMs;
  if (keyboard.attached() && !isLeftAlone) return "attached";
  return Date.now() > notAfter ? "expired" : null;
}

/** A program that draws its input anew has none for a moment, or its cursor elsewhere: only two looks can tell that there is none. */
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

/** Until the place shows the same at two looks. */
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

/** Piece by piece, each of them once the one before is seen. */
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

/** Until what was typed shows the same at two looks. The last thing before Enter. */
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
export function cutIntoPieces(line: string): string[] {
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
