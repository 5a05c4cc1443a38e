import { describe, expect, it } from "vitest";
import { openPty } from "./open-pty.ts";

const runs = 30;
const setting = { cwd: "/", env: { PATH: process.env["PATH"] }, cols: 80, rows: 24 };

describe("a command in a pseudo-terminal", () => {
  it("loses nothing of what it wrote just before it ended", async () => {
    for (let run = 0; run < runs; run++) {
      const pieces: Buffer[] = [];
      const pty = openPty(["seq", "3000"], setting, (bytes) => pieces.push(bytes));
      expect(await pty.ended).toBe(0);
      const lines = Buffer.concat(pieces).toString().split("\r\n");
      expect(lines.slice(-3)).toEqual(["2999", "3000", ""]);
      expect(lines).toHaveLength(3001);
    }
  }, 60_000);

  it("loses nothing that was held back while it was paused", async () => {
    let text = "";
    const pty = openPty(["seq", "3000"], setting, (bytes) => {
      text += bytes.toString();
      pty.pause();
    });
    expect(await pty.ended).toBe(0);
    expect(text.split("\r\n")).toHaveLength(3001);
  });

  it("hears what is typed, and says how it ended", async () => {
    const pty = openPty(["sh", "-c", "read word; exit $word"], setting, () => {});
    pty.write(Buffer.from("7\n"));
    expect(await pty.ended).toBe(7);
  });
});
