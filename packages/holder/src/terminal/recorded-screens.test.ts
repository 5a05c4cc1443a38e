import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentFamily, Sight } from "@rouse/contract";
import { findPlaceToType, patternsFor, readScreen, startWatching } from "@rouse/core";
import { describe, expect, it } from "vitest";
import { keepScreen } from "./keep-screen.ts";

const families: Readonly<Record<string, AgentFamily>> = {
  claude: "claude-code",
  codex: "codex",
  gemini: "gemini-cli",
  opencode: "opencode",
};

const familyOf = (name: string): AgentFamily => families[name.split("-")[0] ?? ""] ?? "generic";
const bytesOf = (name: string): Buffer => readFileSync(join(import.meta.dirname, "recorded-screens", `${name}.raw`));

/**
 * Everything that is seen while a recording is played, with two looks at its end that are far enough apart for a rest.
 */
async function watch(name: string, pieceBytes = 400): Promise<Sight[]> {
  const family = familyOf(name);
  const bytes = bytesOf(name);
  const screen = keepScreen({ cols: Number(/\d+$/.exec(name)?.[0] ?? 100), rows: 40 }, () => {});
  const seen: Sight[] = [];
  let state = startWatching(family);
  let now = Date.UTC(2026, 10, 16, 19, 13, 10);
  async function look(waitMs: number): Promise<void> {
    now += waitMs;
    const shown = await screen.settle(() => screen.typingScreen());
    const reading = readScreen(state, shown, patternsFor(family), { now, utcOffset: 0 });
    state = reading.state;
    seen.push(...reading.sights);
  }
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    screen.feed(bytes.subarray(at, at + pieceBytes));
    await look(250);
  }
  await look(2500);
  await look(2500);
  return seen;
}

/** Each once: cut into pieces, a picture that is drawn anew is gone for a moment. */
const needs = (sights: readonly Sight[]): string[] => [
  ...new Set(sights.flatMap((sight) => (sight.kind === "asks" ? [sight.what] : []))),
];

describe("what a real program wants is told from its screen", () => {
  it.each([
    ["claude-trust", "trust"],
    ["claude-trust-60", "trust"],
    ["claude-trust-44", "trust"],
    ["claude-key", "api-key"],
    ["claude-login", "login"],
    ["claude-auth", "login"],
    ["claude-credits", "credits"],
    ["claude-plan", "plan"],
    ["claude-question", "question"],
    ["claude-ask", "permission"],
    ["codex-trust", "trust"],
    ["codex-login", "login"],
    ["codex-ask", "permission"],
    ["codex-auth", "login"],
    ["codex-credits", "credits"],
    ["codex-switch", "question"],
    ["gemini-trust", "trust"],
    ["gemini-login", "login"],
    ["gemini-ask", "permission"],
    ["gemini-loop", "question"],
    ["opencode-ask", "permission"],
    ["opencode-question", "question"],
    ["claude-norm", "prompt"],
    ["codex-norm", "prompt"],
    ["codex-idle", "prompt"],
    ["gemini-idle", "prompt"],
    ["opencode-idle", "prompt"],
  ])("%s: %s, and nothing else", async (name, what) => {
    expect(needs(await watch(name))).toEqual([what]);
  });

  it.each([["claude-timed-out-120"], ["claude-refused-120"], ["opencode-busy"], ["claude-no-network"]])(
    "%s: nothing",
    async (name) => {
      expect(needs(await watch(name))).toEqual([]);
    },
  );
});

const triesOn = async (name: string) =>
  (await watch(name, 100)).filter((sight): sight is Extract<Sight, { kind: "retries" }> => sight.kind === "retries");

describe("a wait for the provider is told from a real screen", () => {
  it("Claude Code at its usage limit is not at work, and says that it goes on by itself", async () => {
    const sights = await watch("claude-limit");
    const limits = sights.filter((sight) => sight.kind === "rate-limited");
    expect(limits.map(({ what, continues }) => [what, continues ?? false])).toEqual([
      ["usage", false],
      ["usage", true],
    ]);
    for (const { resetsInMs } of limits) expect(resetsInMs).toBeGreaterThan(200_000);
    expect(needs(sights)).toEqual(["prompt"]);
  });

  it("Codex names the time it may try again", async () => {
    const limits = (await watch("codex-limit")).filter((sight) => sight.kind === "rate-limited");
    expect(limits.at(-1)).toMatchObject({ what: "usage", resetsInMs: expect.any(Number) });
  });

  it("each try of a failed request is told, one after the other", async () => {
    const tries = await triesOn("claude-timed-out-120");
    expect([...new Set(tries.map(({ attempt }) => attempt))]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(tries.at(-1)).toMatchObject({ status: null, inMs: expect.any(Number) });
  });

  it("why a try came to nothing is told where the screen says so", async () => {
    expect((await triesOn("claude-timed-out-120")).map(({ cause }) => cause)).toContain("no-answer");
    const causes = (await triesOn("claude-refused-120")).map(({ cause }) => cause);
    expect(new Set(causes)).toEqual(new Set(["no-connection"]));
  });

  it("tries that a key is refused for are no wait: a person is told from the first that says so", async () => {
    const sights = await watch("claude-auth", 100);
    const tries = sights.filter((sight) => sight.kind === "retries");
    expect(tries.map(({ status }) => status)).not.toContain(401);
    expect(sights.filter(({ kind }) => kind === "asks" || kind === "asks-no-more")).toEqual([
      { kind: "asks", what: "login", pattern: "api 401" },
    ]);
  });
});

/** Whether a nudge could be typed where a recording has come to its end. */
async function placeOn(name: string, more = ""): Promise<string> {
  const screen = keepScreen({ cols: 100, rows: 40 }, () => {});
  screen.feed(bytesOf(name));
  screen.feed(Buffer.from(more));
  const shown = await screen.settle(() => screen.typingScreen());
  const place = findPlaceToType(shown, familyOf(name), patternsFor(familyOf(name)));
  return place.kind === "place" ? "place" : place.because;
}

describe("a nudge may be typed into a real program", () => {
  const calm = [
    "claude-norm",
    "claude-auth",
    "codex-norm",
    "codex-idle",
    "gemini-idle",
    "opencode-idle",
    "opencode-busy",
  ];

  it.each(calm)("that shows its empty input, on whichever screen: %s", async (name) => {
    expect(await placeOn(name)).toBe("place");
  });

  it.each(calm)("but not into one with words in it: %s", async (name) => {
    expect(await placeOn(name, "and then")).toBe("half-typed");
  });

  it.each([
    "claude-trust",
    "claude-key",
    "claude-plan",
    "claude-question",
    "claude-ask",
    "codex-trust",
    "codex-switch",
    "codex-login",
    "codex-ask",
    "gemini-trust",
    "gemini-login",
    "gemini-ask",
    "gemini-loop",
    "opencode-ask",
    "opencode-question",
  ])("but never into one that asks: %s", async (name) => {
    expect(await placeOn(name)).toMatch(/^(?:asks|no-input|full-screen)$/);
  });

  it("but not where the cursor of a full-screen program is elsewhere", async () => {
    expect(await placeOn("claude-norm", "\x1b[3;1H")).toBe("full-screen");
  });
});
