import type { ContainOutcome } from "@rouse/contract";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { storeOfTests, until, type World } from "../../../../holder/src/holding.test-support.ts";
import { worldOfEach } from "../../../../holder/src/world-of-each.test-support.ts";
import type { ContainRequest, Holders } from "../../ports/holders.ts";
import { openHolders } from "./open-holders.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: World;
let holders: Holders;
worldOfEach((fresh) => {
  world = fresh;
});
beforeEach(async () => {
  holders = openHolders(
    { folder: world.home, token: "t", url: () => null },
    { info: () => {}, warn: () => {}, error: () => {} },
  );
  const settings = { patterns: [], completionMarker: "DONE" };
  await holders.begin(
    {
      standing: () => null,
      held: async () => ({ lastReport: 0, settings }),
      reported: async () => {},
      lost: async () => {},
      nobodyLeft: async () => {},
      registered: () => null,
      endsLeftovers: async () => {},
    },
    1,
    storeOfTests,
  );
});
afterEach(async () => {
  await holders.close();
  await world.remove();
});

/** Draws Claude Code's box and a footer, and says what it reads. */
const draws = (footer: string) => [
  process.execPath,
  "-e",
  `const rule = "─".repeat(60);
   process.stdin.setRawMode(true);
   process.stdin.on("data", (bytes) => process.stdout.write("\\r\\nread " + JSON.stringify(String(bytes)) + "\\r\\n"));
   process.stdout.write(["● Bash(make)", "", rule, "❯ ", rule, ${JSON.stringify(footer)}].join("\\r\\n"));`,
];

const contain = (how: ContainRequest["how"], key = "k1", decidedAt = 1): Promise<ContainOutcome> =>
  holders.contain({ key, agentId: "a1", incarnation: 1, how, reason: "in circles", decidedAt, lasts: 60_000 });

const readsOf = (): string[] =>
  [
    ...world
      .output()
      .toString("utf8")
      .matchAll(/read ("[^"]*")/g),
  ].map(([, text]) => JSON.parse(text ?? ""));

it("a turn is broken off by one Escape, once for an order, however often it comes", async () => {
  await world.start(world.spec(draws("  accept edits on · esc to interrupt"), { family: "claude-code" }));
  await until(() => world.output().includes("esc to interrupt"), "it shows that it is at work");
  expect(await Promise.all([contain("interrupt"), contain("interrupt")])).toEqual([
    { kind: "contained" },
    { kind: "contained" },
  ]);
  expect(await contain("interrupt")).toEqual({ kind: "contained" });
  await until(() => readsOf().length > 0, "it read the key");
  expect(readsOf()).toEqual(["\u001b"]);
});

it("no key is pressed where the program does not say what it would do", async () => {
  await world.start(world.spec(draws("  ? for shortcuts"), { family: "claude-code" }));
  await until(() => world.output().includes("? for shortcuts"), "it is drawn");
  expect(await contain("interrupt")).toEqual({ kind: "not-contained", because: "not-busy" });
  expect(readsOf()).toEqual([]);
});

it("tools are not withheld from a program that does not ask before it uses them; to let it go is always fine", async () => {
  await world.start(world.spec(draws("  ? for shortcuts"), { family: "claude-code" }));
  expect(await contain("pause")).toEqual({ kind: "not-contained", because: "no-hooks" });
  expect(await contain("let-go", "k2", 2)).toEqual({ kind: "let-go" });
  expect(await contain("pause", "k3", 1)).toEqual({ kind: "not-contained", because: "released" });
});

it("nobody is held back whom nobody holds", async () => {
  expect(await contain("pause")).toEqual({ kind: "not-contained", because: "not-registered" });
});
