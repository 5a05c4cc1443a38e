import { describe, expect, it } from "vitest";
import { type KeptScreen, keepScreen } from "./keep-screen.ts";
import { type Keyboard, type Nudge, typeNudge } from "./type-nudge.ts";

const fact = "The last 5 calls failed.";
const rule = "─".repeat(60);
const box = (text = "") => [rule, `❯ ${text}`, rule, "  ? for shortcuts"].join("\r\n");
/** What a program sends before it draws everything again. */
const wipe = "\x1b[3A\r\x1b[J";
/** Well before the next look, which is 80 ms later. */
const soon = 10;

/** A program that draws an input like Claude Code's and shows what is typed into it. */
function program(
  draws: (screen: KeptScreen) => void,
  begin: (screen: KeptScreen) => void,
  person: { readonly untouchedMs: number; readonly whenIdle: boolean } | null = null,
) {
  const keys: string[] = [];
  const taken: string[] = [];
  const screen = keepScreen({ cols: 80, rows: 24 }, () => {});
  draws(screen);
  const keyboard: Keyboard = {
    screen,
    family: "claude-code",
    patterns: () => [],
    attached: () => person !== null,
    untouchedMs: () => person?.untouchedMs ?? 0,
    inFront: () => true,
    over: () => false,
    said() {},
    taken: (nudge) => taken.push(nudge),
    write(bytes) {
      keys.push(bytes.toString());
      screen.feed(Buffer.from(wipe + box(bytes.toString())));
    },
  };
  const nudge: Nudge = {
    id: "n1",
    text: fact,
    notAfter: Date.now() + 60_000,
    whenIdle: person?.whenIdle ?? false,
    begin() {
      begin(screen);
      return true;
    },
  };
  return { keys, taken, deliver: () => typeNudge(keyboard, nudge) };
}

const draw = (screen: KeptScreen, text: string): void => screen.feed(Buffer.from(text));
function drawInTwo(screen: KeptScreen, before: string): void {
  draw(screen, before);
  setTimeout(() => draw(screen, box()), soon);
}

describe("an input that is being drawn anew", () => {
  const sent = { kind: "sent", channel: "terminal", echoed: true };

  it("when we first look is waited for", async () => {
    const { keys, deliver } = program(
      (screen) => drawInTwo(screen, `● Working on it.\r\n${box()}${wipe}`),
      () => {},
    );
    expect(await deliver()).toEqual(sent);
    expect(keys).toEqual([fact, "\r"]);
  });

  it("while we write down that we are about to type is waited for", async () => {
    const { keys, deliver } = program(
      (screen) => draw(screen, box()),
      (screen) => drawInTwo(screen, wipe),
    );
    expect(await deliver()).toEqual(sent);
    expect(keys).toEqual([fact, "\r"]);
  });

  it("and does not come back is none", async () => {
    const { keys, deliver } = program(
      (screen) => draw(screen, box()),
      (screen) => draw(screen, wipe),
    );
    expect(await deliver()).toEqual({ kind: "not-sent", because: "no-input" });
    expect(keys).toEqual([]);
  });
});

describe("where a person has the terminal open", () => {
  const draws = (screen: KeptScreen): void => draw(screen, box());

  it.each([
    ["by default, however long they have left it alone", { whenIdle: false, untouchedMs: 3_600_000 }],
    ["when they have pressed a key within a minute", { whenIdle: true, untouchedMs: 59_000 }],
  ])("nothing is typed %s", async (_, person) => {
    const { keys, deliver } = program(draws, () => {}, person);
    expect(await deliver()).toEqual({ kind: "not-sent", because: "attached" });
    expect(keys).toEqual([]);
  });

  it("a nudge is typed when the policy says so and they have left it alone", async () => {
    const { keys, deliver } = program(draws, () => {}, { whenIdle: true, untouchedMs: 60_000 });
    expect(await deliver()).toMatchObject({ kind: "sent" });
    expect(keys).toEqual([fact, "\r"]);
  });
});
