import headless from "@xterm/headless";
import { expect, it } from "vitest";
import { fit, holdScreen } from "./watch-agents.ts";

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
    "\x1b[?2026h\x1b[H\x1b[Ka\r\n\x1b[Jb\x1b[?2026l",
    "\x1b[?2026h\x1b[H\x1b[Ja\x1b[?2026l",
    "\x1b[?7h\x1b[?25h\x1b[?1049l",
  ]);
});

it("a row that fills the terminal keeps its last character, and nothing stays of a longer picture before", async () => {
  const terminal = new headless.Terminal({ cols: 10, rows: 3, allowProposedApi: true, logLevel: "off" });
  let written = "";
  const write = (text: string): void => {
    written += text;
    terminal.write(text);
  };
  const screen = holdScreen({ rows: 3, write } as never);
  const seen = async () => {
    await new Promise<void>((done) => terminal.write("", done));
    return [0, 1, 2].map((row) => terminal.buffer.active.getLine(row)?.translateToString(true));
  };
  screen.draw(["16 min ago", "11 min ago", "17 min ago"]);
  expect(await seen()).toEqual(["16 min ago", "11 min ago", "17 min ago"]);
  screen.draw(["6 min", "12 min ago"]);
  expect(await seen()).toEqual(["6 min", "12 min ago", ""]);
  // Where the cursor stays on the last character, as in tmux, whatever is erased from there takes that along.
  for (const erase of ["K", "J"]) expect(written).not.toContain(`ago\x1b[${erase}`);
  screen.release();
  terminal.dispose();
});

it("what has no room on the screen is counted", () => {
  expect(fit(["a", "b"], 2)).toEqual(["a", "b"]);
  expect(fit(["a", "b", "c"], 2)).toEqual(["a", expect.stringMatching(/^… 2 more rows/)]);
});
