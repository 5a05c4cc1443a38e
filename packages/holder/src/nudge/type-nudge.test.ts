import { patternsFor } from "@rouse/core";
import { describe, expect, it } from "vitest";
import { type KeptScreen, keepScreen } from "../terminal/keep-screen.ts";
import { type Keyboard, type Nudge, typeNudge } from "./type-nudge.ts";

const fact = "The last 5 calls failed.";
const rule = "─".repeat(60);
const box = (text = "") => [rule, `❯ ${text}`, rule, "  ? for shortcuts"].join("\r\n");
/** What a program sends before it draws everything again. */
const wipe = "\x1b[H\x1b[J";
/** Well before the next look, which is 80 ms later. */
const soon = 10;

/** What goes on around the terminal while something is typed there. */
interface Scene {
  readonly screen: KeptScreen;
  attached: boolean;
  inFront: boolean;
  over: boolean;
  notAfter: number;
}

interface Given {
  readonly draws?: (screen: KeptScreen) => void;
  readonly begin?: (screen: KeptScreen) => void;
  readonly person?: { readonly untouchedMs: number; readonly whenIdle: boolean };
  readonly text?: string;
  /** Right after the program has shown the first of what was typed. */
  readonly typed?: (scene: Scene) => void;
  /** Once what was typed has been seen to stand there. */
  readonly seen?: (scene: Scene) => void;
  readonly enter?: () => void;
}

/** A program that draws an input like Claude Code's and shows what is typed into it. */
function program({ draws = (screen) => draw(screen, box()), begin, person, text = fact, typed, seen, enter }: Given) {
  const keys: string[] = [];
  const taken: string[] = [];
  const screen = keepScreen({ cols: 80, rows: 24 }, () => {});
  const scene: Scene = {
    screen,
    attached: person !== undefined,
    inFront: true,
    over: false,
    notAfter: Date.now() + 60_000,
  };
  let shown = "";
  let looks = 0;
  draws(screen);
  const keyboard: Keyboard = {
    screen,
    family: "claude-code",
    // Asked for with each look at the screen.
    patterns() {
      if (keys.length === 1 && ++looks === 1) seen?.(scene);
      return patternsFor("claude-code");
    },
    attached: () => scene.attached,
    untouchedMs: () => person?.untouchedMs ?? 0,
    inFront: () => scene.inFront,
    over: () => scene.over,
    said() {},
    taken: (nudge) => taken.push(nudge),
    write(bytes) {
      keys.push(bytes.toString());
      shown += bytes.toString();
      draw(screen, wipe + box(shown));
      if (keys.length === 1) typed?.(scene);
      if (bytes.toString() === "\r") enter?.();
    },
  };
  const nudge: Nudge = {
    id: "n1",
    text,
    get notAfter() {
      return scene.notAfter;
    },
    whenIdle: person?.whenIdle ?? false,
    begin() {
      begin?.(screen);
      return true;
    },
  };
  return { keys, taken, scene, deliver: () => typeNudge(keyboard, nudge) };
}

const draw = (screen: KeptScreen, text: string): void => screen.feed(Buffer.from(text));
function drawInTwo(screen: KeptScreen, before: string): void {
  draw(screen, before);
  setTimeout(() => draw(screen, box()), soon);
}

describe("an input that is being drawn anew", () => {
  const sent = { kind: "sent", channel: "terminal", echoed: true };

  it("when we first look is waited for", async () => {
    const { keys, deliver } = program({
      draws: (screen) => drawInTwo(screen, `● Working on it.\r\n${box()}${wipe}`),
    });
    expect(await deliver()).toEqual(sent);
    expect(keys).toEqual([fact, "\r"]);
  });

  it("while we write down that we are about to type is waited for", async () => {
    const { keys, deliver } = program({ begin: (screen) => drawInTwo(screen, wipe) });
    expect(await deliver()).toEqual(sent);
    expect(keys).toEqual([fact, "\r"]);
  });

  it("and does not come back is none", async () => {
    const { keys, deliver } = program({ begin: (screen) => draw(screen, wipe) });
    expect(await deliver()).toEqual({ kind: "not-sent", because: "no-input" });
    expect(keys).toEqual([]);
  });
});

describe("where a person has the terminal open", () => {
  it.each([
    ["by default, however long they have left it alone", { whenIdle: false, untouchedMs: 3_600_000 }],
    ["when they have pressed a key within a minute", { whenIdle: true, untouchedMs: 59_000 }],
  ])("nothing is typed %s", async (_, person) => {
    const { keys, deliver } = program({ person });
    expect(await deliver()).toEqual({ kind: "not-sent", because: "attached" });
    expect(keys).toEqual([]);
  });

  it("a nudge is typed when the policy says so and they have left it alone", async () => {
    const { keys, deliver } = program({ person: { whenIdle: true, untouchedMs: 60_000 } });
    expect(await deliver()).toMatchObject({ kind: "sent" });
    expect(keys).toEqual([fact, "\r"]);
  });
});

/** Whatever may happen at any moment and speaks against the next key. */
const happenings: readonly [string, (scene: Scene) => void, string][] = [
  ["a person comes", (scene) => Object.assign(scene, { attached: true }), "attached"],
  ["another program takes the keys", (scene) => Object.assign(scene, { inFront: false }), "no-input"],
  ["the agent ends", (scene) => Object.assign(scene, { over: true }), "over"],
  ["its time runs out", (scene) => Object.assign(scene, { notAfter: 0 }), "expired"],
];
const screens: readonly [string, (scene: Scene) => void, string][] = [
  ["a question comes up", ({ screen }) => draw(screen, `${wipe}Overwrite? [y/N]\r\n${box(fact)}`), "asks"],
  ["a menu opens", ({ screen }) => draw(screen, `${wipe}  Enter to select\r\n${box(fact)}`), "asks"],
  ["a full-screen program opens", ({ screen }) => draw(screen, `\x1b[?1049h${wipe}${box(fact)}`), "full-screen"],
];

describe("when something happens before the first key", () => {
  it.each(happenings)("nothing is typed, nor written down as begun: %s", async (_, happens, because) => {
    let begun = false;
    const begin = (): void => {
      begun = true;
    };
    const { keys, scene, deliver } = program({ begin });
    happens(scene);
    expect(await deliver()).toEqual({ kind: "not-sent", because });
    expect({ keys, begun }).toEqual({ keys: [], begun: false });
  });
});

describe("when something happens between the text and Enter", () => {
  it.each([...happenings, ...screens])("Enter is not pressed: %s as it is typed", async (_, typed, because) => {
    const { keys, deliver } = program({ typed });
    expect(await deliver()).toEqual({ kind: "not-sent", because });
    expect(keys).toEqual([fact]);
  });

  it.each([...happenings, ...screens])("Enter is not pressed: %s once it stands there", async (_, seen, because) => {
    const { keys, deliver } = program({ seen });
    expect(await deliver()).toEqual({ kind: "not-sent", because });
    expect(keys).toEqual([fact]);
  });

  it("Enter is pressed late enough not to be taken for part of something pasted, as Codex does within 120 ms", async () => {
    let typedAt = Number.POSITIVE_INFINITY;
    let isPasted = false;
    const { keys, deliver } = program({
      typed() {
        typedAt = performance.now();
      },
      enter() {
        isPasted = performance.now() - typedAt < 120;
      },
    });
    expect(await deliver()).toMatchObject({ kind: "sent" });
    expect({ keys, isPasted }).toEqual({ keys: [fact, "\r"], isPasted: false });
  });

  const long = "The last call failed. ".repeat(40);

  it.each(happenings)(
    "the rest of a long text is not typed: %s once its beginning stands there",
    async (_, seen, because) => {
      const { keys, deliver } = program({ text: long, seen });
      expect(await deliver()).toEqual({ kind: "not-sent", because });
      expect(keys).toHaveLength(1);
    },
  );

  it.each([...happenings, ...screens])("the rest of a long text is not typed: %s", async (_, typed, because) => {
    const { keys, deliver } = program({ text: long, typed });
    expect(await deliver()).toEqual({ kind: "not-sent", because });
    expect(keys).toHaveLength(1);
  });
});
