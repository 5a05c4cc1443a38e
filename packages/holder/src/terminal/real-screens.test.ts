import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentFamily } from "@rouse/contract";
import { findPlaceToType, patternsFor, readScreen, startWatching } from "@rouse/core";
import { describe, expect, it } from "vitest";
import { type KeptScreen, keepScreen } from "./keep-screen.ts";

/** What real programs wrote into terminals, beside the checkout or further up. */
function findRecordings(from: string): string {
  const folder = join(from, "shared/real-agents/recordings");
  return existsSync(folder) || from === dirname(from) ? folder : findRecordings(dirname(from));
}
const recordings = findRecordings(import.meta.dirname);
const there = existsSync(recordings);
if (!there) process.stderr.write(`${recordings} IS NOT THERE: the screens of real programs are not read.\n`);

const familyOf = (file: string): AgentFamily => (file.startsWith("x") ? "codex" : "claude-code");
const files = there ? readdirSync(recordings).filter((name) => name.endsWith(".raw")) : [];

/** Somebody who looks at a screen of the size that was recorded; each look may come to rest. */
function watch(family: AgentFamily) {
  const screen = keepScreen({ cols: 100, rows: 40 }, () => {});
  let state = startWatching(family);
  let now = Date.UTC(2026, 10, 16);
  const drafts: string[] = [];
  async function look(waitMs: number): Promise<string[]> {
    now += waitMs;
    const seen = await screen.settle(() => screen.typingScreen());
    const reading = readScreen(state, seen, patternsFor(family), { now, utcOffset: 0 });
    state = reading.state;
    if (reading.sights.some((sight) => sight.kind === "asks" && sight.what === "draft"))
      drafts.push(seen.rows.findLast((row) => /^[❯›]/.test(row)) ?? "");
    return reading.sights.flatMap((sight) => (sight.kind === "asks" ? [`asks ${sight.what}`] : [sight.kind]));
  }
  /** The rest of what was cut in two: its cursor comes back to where keys go. */
  async function drawToTheEnd(bytes: Buffer, from: number): Promise<void> {
    for (let at = from; at < bytes.length; at++) {
      const { rows, cursorRow } = await screen.settle(() => screen.screen());
      if (cursorRow === rows.findLastIndex((row) => /^[❯›]/.test(row))) return;
      screen.feed(bytes.subarray(at, at + 1));
    }
  }
  /** Up to where its screen shows the words, and its input below them. */
  async function plays(file: string, shows = /(?!)/): Promise<string[]> {
    const bytes = readFileSync(join(recordings, file));
    const seen: string[] = [];
    for (let at = 0; at < bytes.length; at += 500) {
      screen.feed(bytes.subarray(at, at + 500));
      for (const wait of [0, 2500]) seen.push(...(await look(wait)));
      const { rows } = await screen.settle(() => screen.screen());
      const said = rows.findIndex((row) => shows.test(row));
      if (said < 0 || rows.findLastIndex((row) => /^[❯›]/.test(row)) <= said) continue;
      await drawToTheEnd(bytes, at + 500);
      break;
    }
    return seen;
  }
  return { screen, look, plays, drafts };
}

/** Types where the program takes words, as far as a picture can: over its suggestion. */
async function type(screen: KeptScreen, text: string): Promise<void> {
  const { rows } = await screen.settle(() => screen.screen());
  const at = rows.findLastIndex((row) => /^[❯›]/.test(row));
  screen.feed(Buffer.from(`\x1b7\x1b[${at + 1};3H\x1b[0m${text}\x1b8`));
}

describe.runIf(there)("on the screens of real programs", () => {
  it.each(files)("a suggestion in the input is no draft: %s", async (file) => {
    const { plays, drafts } = watch(familyOf(file));
    await plays(file);
    // What was typed by hand or by us is one, to somebody who looks as slowly as we do here.
    for (const draft of drafts) expect(draft).toMatch(/change the greeting|hello there|what is next/);
  });

  it.each([
    ["t-norm.raw", /Cooked for/],
    ["t-bare.raw", /Worked for/],
    ["xs-idle.raw", /shortcuts/],
    ["xt-norm.raw", /Worked for/],
  ])("a line that was begun and left is a draft, once, until it is gone: %s", async (file, shows) => {
    const { screen, look, plays } = watch(familyOf(file));
    await plays(file, shows);
    await type(screen, "and then");
    expect([...(await look(0)), ...(await look(1900))]).not.toContain("asks draft");
    expect(await look(200)).toContain("asks draft");
    expect(await look(60_000)).toEqual([]);
    await type(screen, " ".repeat(8));
    expect(await look(250)).toContain("asks-no-more");
    expect(await look(2500)).toContain("asks prompt");
  });

  it.each([
    ["t-norm.raw", /Cooked for/],
    ["t-hang.raw", /Channeling/],
    ["xt-norm.raw", /Worked for/],
    ["xt-rate.raw", /Reconnecting\.{3} 2/],
  ])("the empty input is a place to type, and one with words or below a question is none: %s", async (file, shows) => {
    const family = familyOf(file);
    const { screen, plays } = watch(family);
    await plays(file, shows);
    const judge = async (): Promise<string> => {
      const seen = await screen.settle(() => screen.typingScreen());
      const place = findPlaceToType(seen, family, patternsFor(family));
      return place.kind === "place" ? "place" : place.because;
    };
    expect(await judge()).toBe("place");
    const { rows } = await screen.settle(() => screen.screen());
    const box = rows.findLastIndex((row) => /^[❯›]/.test(row));
    screen.feed(Buffer.from(`\x1b7\x1b[${box - 1};1H\x1b[2KDatei ueberschreiben? [Enter] = ja\x1b8`));
    expect(await judge()).toBe("asks");
    screen.feed(Buffer.from(`\x1b7\x1b[${box - 1};1H\x1b[2K\x1b8`));
    await type(screen, "and then");
    expect(await judge()).toBe("half-typed");
  });
});
