import { expect, it } from "vitest";
import { fit, holdScreen } from "./hold-screen.ts";

it("a picture is written only when it has changed, over the one before, and the terminal is given back once", () => {
  const written: string[] = [];
  const screen = holdScreen({ rows: 3, write: (text: string) => written.push(text) > 0 } as never);
  screen.draw(["a", "b"]);
  screen.draw(["a", "b"]);
  screen.draw(["a"]);
  screen.release();
  screen.release();
  screen.draw(["late"]);
  expect(written).toEqual([
    "\x1b[?1049h\x1b[?25l\x1b[?7l",
    "\x1b[?2026h\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J\x1b[?2026l",
    "\x1b[?2026h\x1b[Ha\x1b[K\x1b[J\x1b[?2026l",
    "\x1b[?7h\x1b[?25h\x1b[?1049l",
  ]);
});

it("what has no room on the screen is counted", () => {
  expect(fit(["a", "b"], 2)).toEqual(["a", "b"]);
  expect(fit(["a", "b", "c"], 2)).toEqual(["a", expect.stringMatching(/^… 2 more rows/)]);
});
