import { expect, it } from "vitest";
import { followFullScreen } from "./attach-here.ts";

function isFullAfter(...pieces: string[]): boolean {
  const screen = followFullScreen();
  for (const piece of pieces) screen.take(Buffer.from(piece, "latin1"));
  return screen.isFull();
}

it("is on the alternate screen from the switch to it until the switch back", () => {
  expect(isFullAfter("plain")).toBe(false);
  expect(isFullAfter("\x1b[?1049htext")).toBe(true);
  expect(isFullAfter("\x1b[?1049h", "\x1b[?25l\x1b[?1049l")).toBe(false);
  expect(isFullAfter("\x1b[?25;1049;2004h")).toBe(true);
  expect(isFullAfter("\x1b[?47h")).toBe(true);
});

it("sees a switch that comes in two pieces", () => {
  expect(isFullAfter("much text before \x1b[?10", "49h and after")).toBe(true);
  expect(isFullAfter("\x1b[?1049h", "x".repeat(100), "\x1b", "[?1049l")).toBe(false);
});

it("takes no other switch for it, nor text that looks like one", () => {
  expect(isFullAfter("\x1b[?2004h\x1b[?1h[?1049h\x1b[1049h\x1b[?10490h")).toBe(false);
});
