import headless from "@xterm/headless";
import { beforeEach, describe, expect, it } from "vitest";
import { boundTerminal, perColumn, perRow, repeatCharacter } from "./keep-screen.ts";

const cols = 40;
const rows = 10;
const most = 2 ** 31 - 1;

let terminal: headless.Terminal;
beforeEach(() => {
  terminal = new headless.Terminal({ cols, rows, scrollback: 20, allowProposedApi: true, logLevel: "off" });
});

const write = (text: string) => new Promise<void>((resolve) => terminal.write(text, resolve));

/** What the terminal's own handlers would be asked to do. */
function listenTo(sequences: typeof perRow): number[] {
  const asked: number[] = [];
  for (const id of sequences) {
    terminal.parser.registerCsiHandler(id, ([count]) => asked.push(count as number) > 0);
  }
  boundTerminal(terminal);
  return asked;
}

const say = (count: number | "", { intermediates = "", final }: (typeof perRow)[number]) =>
  `\x1b[${count}${intermediates}${final}`;

describe("a sequence that is to be done two thousand million times", () => {
  it("is done once for every line of the screen when it moves lines", async () => {
    const asked = listenTo(perRow);
    await write(perRow.map((id) => say(most, id)).join(""));
    expect(asked).toEqual(perRow.map(() => rows));
  });

  it("is done once for every column of the screen when it moves along a line", async () => {
    const asked = listenTo(perColumn);
    await write(perColumn.map((id) => say(most, id)).join(""));
    expect(asked).toEqual(perColumn.map(() => cols));
  });

  it("fills the screen once when it repeats a character, and less often when that carries accents", async () => {
    const asked = listenTo([repeatCharacter]);
    await write(`A${say(most, repeatCharacter)}A\u0301${say(most, repeatCharacter)}`);
    expect(asked).toEqual([rows * cols, (rows * cols) / 2]);
  });

  it("is bounded by the screen as it is now, not as it was", async () => {
    const asked = listenTo([repeatCharacter]);
    terminal.resize(20, 5);
    await write(`A${say(most, repeatCharacter)}`);
    expect(asked).toEqual([100]);
  });
});

describe("a sequence with a number a program would use", () => {
  it("is done as often as it says, and as often as it should when it says nothing", async () => {
    const all = [...perRow, ...perColumn, repeatCharacter];
    const asked = listenTo(all);
    await write(all.map((id) => `A${say(3, id)}A${say("", id)}`).join(""));
    expect(asked).toEqual(all.flatMap(() => [3, 0]));
  });

  it("draws what it drew before", async () => {
    boundTerminal(terminal);
    await write("ab\x1b[3bc\r\nnext\x1b[1L\x1b[Hx\x1b[2@");
    const text = (row: number) => terminal.buffer.active.getLine(row)?.translateToString(true);
    expect([text(0), text(1), text(2)]).toEqual(["x  bbbbc", "", "next"]);
  });
});

describe("what is written without end into one place", () => {
  it("does not grow a cell: accents beyond a few stand for themselves", async () => {
    boundTerminal(terminal);
    await write(`a${"\u0301".repeat(1000)}`);
    const lengths = Array.from({ length: rows }, (_, row) => terminal.buffer.active.getLine(row)).flatMap((line) =>
      Array.from({ length: cols }, (_, column) => line?.getCell(column)?.getChars().length ?? 0),
    );
    expect(Math.max(...lengths)).toBe(9);
  });

  it("leaves a character with one accent as it is", async () => {
    boundTerminal(terminal);
    await write("e\u0301e");
    expect(terminal.buffer.active.getLine(0)?.getCell(0)?.getChars()).toBe("e\u0301");
    expect(terminal.buffer.active.cursorX).toBe(2);
  });

  it("adds no links and no title: each would be kept", async () => {
    boundTerminal(terminal);
    const titles: string[] = [];
    terminal.onTitleChange((title) => titles.push(title));
    await write("\x1b]8;;http://x\x07link\x1b]8;;\x07\x1b]0;title\x07");
    expect(terminal.markers).toEqual([]);
    expect(titles).toEqual([]);
    expect(terminal.buffer.active.getLine(0)?.translateToString(true)).toBe("link");
  });
});
