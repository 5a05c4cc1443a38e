import type { AgentFamily } from "@rouse/contract";
import { patternsFor } from "@rouse/core";
import { beforeEach, describe, expect, it } from "vitest";
import { nudgeByHook } from "../program/nudge-by-hook.ts";
import { nudgeBySteer } from "../program/nudge-by-steer.ts";
import type { ContainOrder } from "../protocol/messages.ts";
import { keepScreen } from "../terminal/keep-screen.ts";
import { containAgent } from "./contain-agent.ts";

let written: string[];
let attached: boolean;
let inFront: boolean;
let reads: boolean;
let over: boolean;
let hooksOpen: boolean;
let midLine: boolean;
let now: number;
beforeEach(() => {
  written = [];
  attached = false;
  inFront = true;
  reads = true;
  over = false;
  hooksOpen = true;
  midLine = false;
  now = 1_000_000;
});

const order = (how: ContainOrder["how"], decidedAt = 1): ContainOrder => ({
  kind: "contain",
  how,
  reason: "handed to a person",
  decidedAt,
  lastsMs: 60_000,
});

const common = () => ({ hooksOpen: () => hooksOpen, over: () => over, now: () => now });
const slot = {
  over: () => over,
  midLine: () => midLine,
  longest: Number.POSITIVE_INFINITY,
  deliver: async (bytes: Buffer) => reads && written.push(bytes.toString()) > 0,
  gave: () => {},
};

const steer = nudgeBySteer(
  () => null,
  () => {},
  () => {},
);

/** An agent without a terminal that reads lines of JSON, or nothing at all. */
const spoken = (input: "stdin" | "none" = "none", family: AgentFamily = "claude-code") =>
  containAgent({
    family: () => family,
    ways: { input: () => input, hooks: nudgeByHook(), steer, slot, keyboard: null },
    ...common(),
  });

/** One in a terminal that shows this. */
function shown(picture: string, family: AgentFamily = "claude-code") {
  const screen = keepScreen({ cols: 80, rows: 12 }, () => {});
  screen.feed(Buffer.from(picture.replaceAll("\n", "\r\n")));
  const keyboard = {
    screen,
    family,
    patterns: () => patternsFor(family),
    attached: () => attached,
    over: () => over,
    said: () => {},
    taken: () => {},
    untouchedMs: () => 0,
    inFront: () => inFront,
    write: (bytes: Buffer) => void written.push(bytes.toString()),
  };
  return containAgent({
    family: () => family,
    ways: { input: () => "terminal", hooks: nudgeByHook(), steer, slot, keyboard },
    ...common(),
  });
}

const refused = (because: string) => ({ kind: "not-contained", because });

describe("a pause", () => {
  it("withholds tools for as long as it lasts, with the reason it was given, and ends by itself", async () => {
    const containment = spoken();
    expect(containment.withheld()).toBeNull();
    expect(await containment.obey(order("pause"))).toEqual({ kind: "contained" });
    expect(containment.withheld()).toBe("handed to a person");
    now += 59_999;
    expect(containment.withheld()).toBe("handed to a person");
    now += 1;
    expect(containment.withheld()).toBeNull();
  });

  it("is over when it is let go, and what was decided before that has no effect any more", async () => {
    const containment = spoken();
    await containment.obey(order("pause", 5));
    expect(await containment.obey(order("let-go", 6))).toEqual({ kind: "let-go" });
    expect(containment.withheld()).toBeNull();
    expect(await containment.obey(order("pause", 5))).toEqual(refused("released"));
    expect(await containment.obey(order("pause", 6))).toEqual(refused("released"));
    // Nor does one to let go that comes late make it younger.
    await containment.obey(order("let-go", 3));
    expect(await containment.obey(order("pause", 5))).toEqual(refused("released"));
    expect(containment.withheld()).toBeNull();
    expect(await containment.obey(order("pause", 7))).toEqual({ kind: "contained" });
  });

  it("wakes whoever waits for its end: when it is let go, when it ends by itself, and never later than asked", async () => {
    const containment = spoken();
    await containment.untilLetGo(1e9);
    await containment.obey({ ...order("pause", 1), lastsMs: 5 });
    await containment.untilLetGo(1e9);
    await containment.obey(order("pause", 2));
    await containment.untilLetGo(5);
    expect(containment.withheld()).toBe("handed to a person");
    const woken = Promise.all([containment.untilLetGo(1e9), containment.untilLetGo(1e9)]);
    await containment.obey(order("let-go", 3));
    await woken;
  });

  it("is refused where nothing asks before tools run, and of one that is over", async () => {
    hooksOpen = false;
    const containment = spoken();
    expect(await containment.obey(order("pause"))).toEqual(refused("no-hooks"));
    expect(containment.withheld()).toBeNull();
    hooksOpen = true;
    over = true;
    expect(await containment.obey(order("pause"))).toEqual(refused("over"));
  });
});

describe("an interrupt", () => {
  const rule = "─".repeat(60);
  const busy = `● Bash(make)\n\n${rule}\n❯ \n${rule}\n  accept edits on · esc to interrupt`;

  it("is Claude Code's own request where it reads lines of JSON", async () => {
    expect(await spoken("stdin").obey(order("interrupt"))).toEqual({ kind: "contained" });
    expect(written.map((line) => JSON.parse(line))).toEqual([
      { type: "control_request", request_id: "rouse-interrupt", request: { subtype: "interrupt" } },
    ]);
    expect(written[0]?.endsWith("}\n")).toBe(true);
  });

  it("is not put into the middle of somebody's line", async () => {
    midLine = true;
    expect(await spoken("stdin").obey(order("interrupt"))).toEqual(refused("no-way"));
    expect(written).toEqual([]);
  });

  it("is not said to be done when nobody reads it", async () => {
    reads = false;
    expect(await spoken("stdin").obey(order("interrupt"))).toEqual(refused("no-way"));
  });

  it("is no key for a shell that has come to the front, whatever the program left on the screen", async () => {
    inFront = false;
    expect(await shown(busy).obey(order("interrupt"))).toEqual(refused("no-way"));
    expect(written).toEqual([]);
  });

  it("is a single Escape in a terminal that says so", async () => {
    expect(await shown(busy).obey(order("interrupt"))).toEqual({ kind: "contained" });
    expect(written).toEqual(["\x1b"]);
  });

  it("is no key where it might mean something else, or somebody sits there", async () => {
    expect(await shown(busy.replace("interrupt", "cancel")).obey(order("interrupt"))).toEqual(refused("not-busy"));
    expect(await shown(`Do you want to proceed?\n❯ 1. Yes\n  2. No\n${busy}`).obey(order("interrupt"))).toEqual(
      refused("asks"),
    );
    expect(await shown(busy, "gemini-cli").obey(order("interrupt"))).toEqual(refused("no-way"));
    expect(await spoken().obey(order("interrupt"))).toEqual(refused("no-way"));
    attached = true;
    expect(await shown(busy).obey(order("interrupt"))).toEqual(refused("attached"));
    expect(written).toEqual([]);
  });

  it("comes too late after the agent was let go", async () => {
    const containment = shown(busy);
    await containment.obey(order("let-go", 3));
    expect(await containment.obey(order("interrupt", 2))).toEqual(refused("released"));
    expect(written).toEqual([]);
  });
});
