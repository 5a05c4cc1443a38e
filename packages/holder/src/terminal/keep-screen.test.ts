import { describe, expect, it } from "vitest";
import { keepScreen } from "./keep-screen.ts";

const open = (cols = 40, rows = 10) => {
  const replies: string[] = [];
  const screen = keepScreen({ cols, rows }, (bytes) => replies.push(bytes.toString()));
  const write = (text: string) => {
    screen.feed(Buffer.from(text));
    return screen.settle(() => screen.newLines());
  };
  return { screen, write, replies };
};

describe("the lines a terminal gets", () => {
  it("are the complete ones since the last look, without colours and trailing blanks", async () => {
    const { write } = open();
    expect(await write("one\r\n\x1b[31mtwo  \x1b[0m\r\nthr")).toEqual(["one", "two"]);
    expect(await write("ee\r\n")).toEqual(["three"]);
    expect(await write("")).toEqual([]);
  });

  it("are none when a spinner, a timer or a whole screen is painted over", async () => {
    const { write } = open();
    await write("working\r\n");
    expect(await write("\r| 1s\r/ 2s\r- 3s")).toEqual([]);
    expect(await write("\r\nfooter\x1b[1A\r\\ 4s\x1b[1B")).toEqual(["\\ 4s"]);
    expect(await write("\x1b[1A\r| 5s\x1b[1B")).toEqual([]);
  });

  it("go on beyond what the terminal remembers", async () => {
    const { write } = open();
    await write("first\r\n");
    const lines = await write(Array.from({ length: 900 }, (_, i) => `line ${i}\r\n`).join(""));
    expect(lines.at(-1)).toBe("line 899");
    expect(lines.length).toBeGreaterThan(450);
    expect(await write("last\r\n")).toEqual(["last"]);
  });

  it("are one line when one was too long for the screen", async () => {
    const { write } = open(10);
    expect(await write("0123456789abcdef\r\nnext\r\n")).toEqual(["0123456789abcdef", "next"]);
  });

  it("start again at the top of a screen that was cleared", async () => {
    const { write } = open();
    await write("one\r\ntwo\r\nthree\r\n");
    await write("\x1b[H\x1b[2J");
    expect(await write("four\r\n")).toEqual(["four"]);
  });

  it("are none while a full-screen program draws, and go on after it", async () => {
    const { screen, write } = open();
    await write("before\r\n");
    expect(await write("\x1b[?1049h\x1b[Hmenu\r\nitem\r\n")).toEqual([]);
    expect(screen.screen()).toMatchObject({ alternate: true, cursorRow: 2 });
    expect(screen.screen().rows.slice(0, 3)).toEqual(["menu", "item", ""]);
    expect(await write("\x1b[?1049lafter\r\n")).toEqual(["after"]);
    expect(screen.screen().alternate).toBe(false);
  });
});

describe("a kept screen", () => {
  it("can be shown to another terminal", async () => {
    const first = open();
    await first.write("one\r\n\x1b[1mbold\x1b[0m> ");
    const picture = await first.screen.settle(() => first.screen.picture());
    const second = open();
    await second.write(picture);
    expect(second.screen.screen()).toEqual(first.screen.screen());
  });

  it("shows what was fed before it was asked, and nothing that came after", async () => {
    const { screen } = open();
    screen.feed(Buffer.from("before"));
    const looked = screen.settle(() => screen.screen().rows[0]);
    screen.feed(Buffer.from(" after"));
    expect(await looked).toBe("before");
  });

  it("answers a program that asks where the cursor is", async () => {
    const { write, replies } = open();
    await write("ab\x1b[6n");
    expect(replies).toEqual(["\x1b[1;3R"]);
  });

  it("survives everything that is not text", async () => {
    const { write } = open();
    const garbage = Buffer.from(Array.from({ length: 50_000 }, (_, i) => (i * 7919 + (i >> 3)) % 256));
    await write(garbage.toString("latin1"));
    await write("\x18\x1b\\\x1bc");
    expect(await write("\r\nalive\r\n")).toContain("alive");
  });
});

describe("a screen whose agent writes what is much work to draw", () => {
  /** Whole screens of work, and a question whose answers count how often it was done. */
  const work = "A\x1b[400b\x1b[10S\x1bc\x1b[6n";

  it("shows the end of it, without all that came before", async () => {
    const { screen, write, replies } = open();
    const times = Math.floor((250 * 1024) / work.length);
    await write(work.repeat(times));
    expect(replies.length).toBeGreaterThan(100);
    expect(replies.length).toBeLessThan(times / 2);
    await write("\x1bcat last");
    expect(screen.screen().rows[0]).toBe("at last");
  });

  it("is not led astray by numbers no screen has room for", async () => {
    const { screen, write } = open();
    await write("A\x1b[2000000b\x1b[100000S\x1b[100000T\x1b[H\x1b[100000L\x1b[100000MB\x1b[2b");
    expect(screen.screen().rows).toEqual(["BBB", ...Array.from({ length: 9 }, () => "")]);
  });
});

describe("a screen to type into", () => {
  const firm = async (text: string) => {
    const { screen, write } = open();
    await write(text);
    const { rows, firm } = screen.typingScreen();
    expect(firm).toHaveLength(rows.length);
    return firm[0];
  };

  it("shows only what is firm: pale suggestions are none of it, and no other letter moves", async () => {
    expect(await firm("\x1b[2mhint\x1b[0m> \x1b[2msay something\x1b[0m|")).toBe("    >              |");
    expect(await firm("❯ \x1b[7mT\x1b[27m\x1b[2mry this\x1b[0m")).toBe("❯");
    expect(await firm("❯ 日本\x1b[2m語\x1b[0mx")).toBe("❯ 日本 x");
  });

  it("shows typed text under and before a drawn cursor", async () => {
    expect(await firm("❯ \x1b[7mh\x1b[27mello")).toBe("❯ hello");
    expect(await firm("❯ hell\x1b[7mo\x1b[27m")).toBe("❯ hello");
    expect(await firm("❯ hello\x1b[7m \x1b[27m")).toBe("❯ hello");
    expect(await firm("❯ \x1b[7mhello\x1b[27m there")).toBe("❯ hello there");
  });
});
