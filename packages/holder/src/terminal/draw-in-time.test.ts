import { describe, expect, it } from "vitest";
import { drawInTime } from "./draw-in-time.ts";

/** A terminal that is done when it is told to be, and whose every byte costs as much as the test says. */
function slowTerminal(msPerByte: number) {
  let clock = 0;
  let tasks: { bytes: Buffer; done: () => void }[] = [];
  const drawn: Buffer[] = [];
  const drawing = drawInTime(
    (bytes, done) => void tasks.push({ bytes: Buffer.from(bytes), done }),
    () => drawn.push(Buffer.from("<skipped>")),
    () => clock,
  );
  return {
    ...drawing,
    text: () => Buffer.concat(drawn).toString(),
    clock: () => clock,
    waiting: () => tasks.reduce((sum, { bytes }) => sum + bytes.length, 0),
    largest: () => Math.max(...drawn.map(({ length }) => length)),
    /** Until there is nothing more to do. */
    run() {
      while (tasks.length > 0) {
        const [task, ...others] = tasks;
        tasks = others;
        clock += (task?.bytes.length ?? 0) * msPerByte;
        if (task !== undefined && task.bytes.length > 0) drawn.push(task.bytes);
        task?.done();
      }
    },
  };
}

const line = `${"x".repeat(98)}\r\n`;

describe("a terminal for which every byte is work", () => {
  it("draws for a bounded time before a look, and then only the end, from a line start", () => {
    const terminal = slowTerminal(0.1); // 384 kB would take 38 s
    for (let count = 0; count < 3840; count++) terminal.draw(Buffer.from(line));
    terminal.draw(Buffer.from("the end"));
    let seen = "";
    terminal.look(() => {
      seen = terminal.text();
    });
    terminal.run();
    expect(terminal.clock()).toBeLessThan(2000);
    expect(seen).toMatch(/<skipped>x{98}\r\n/);
    expect(seen.endsWith("the end")).toBe(true);
  });

  it("draws nothing for those who do not look, once the time is used up", () => {
    const terminal = slowTerminal(1);
    for (let count = 0; count < 1000; count++) terminal.draw(Buffer.from(line));
    terminal.run();
    expect(terminal.text().length).toBeLessThanOrEqual(8192);
  });

  it("begins anew after each look", () => {
    const terminal = slowTerminal(0.1);
    let looks = 0;
    for (let slice = 0; slice < 5; slice++) {
      terminal.draw(Buffer.from(line.repeat(50)));
      terminal.look(() => looks++);
    }
    terminal.run();
    expect(looks).toBe(5);
    expect(terminal.text()).toBe(line.repeat(250));
  });

  it("is given little at once, in small pieces: between two of them others have their turn", () => {
    const terminal = slowTerminal(0);
    terminal.draw(Buffer.from(line.repeat(1000)));
    expect(terminal.waiting()).toBeLessThanOrEqual(8192);
    terminal.run();
    expect(terminal.largest()).toBeLessThanOrEqual(512);
    expect(terminal.text()).toBe(line.repeat(1000));
  });
});

describe("a look", () => {
  it("sees what was given before it and nothing that came later", () => {
    const terminal = slowTerminal(0);
    const seen: string[] = [];
    terminal.draw(Buffer.from("one "));
    terminal.look(() => seen.push(terminal.text()));
    terminal.draw(Buffer.from("two "));
    terminal.look(() => seen.push(terminal.text()));
    terminal.look(() => seen.push(terminal.text()));
    terminal.run();
    expect(seen).toEqual(["one ", "one two ", "one two "]);
  });
});
