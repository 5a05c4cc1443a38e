import type { DurationMs, ExitStatus } from "@rouse/contract";
import { calmDown, enterRawMode, leaveFullScreen, pourInto } from "@rouse/holder";
import { connectHolder, type Door } from "../../holders/connect-holder.ts";

type AttachEnding =
  | { readonly kind: "left" }
  | { readonly kind: "ended"; readonly exit: ExitStatus }
  | { readonly kind: "refused"; readonly problem: string }
  | { readonly kind: "lost" };

/** The agent's screen is drawn from the first row on. What the person had on the screen is pushed up, not lost. */
const makeRoom = (rows: number): Buffer => Buffer.from(`${"\r\n".repeat(rows)}\x1b[H`);

/**
 * Makes this terminal a window on the agent's. Leaving it, closing it or losing the connection never ends the agent.
 * Keys count at once; what was on the screen before stays there for `readFor`.
 */
export async function attachHere(door: Door, { readFor }: { readonly readFor: DurationMs }): Promise<AttachEnding> {
  const { stdin, stdout } = process;
  const line = await connectHolder(door, { timeoutMs: 5000 });
  const sizeNow = () => ({ cols: Math.max(2, stdout.columns || 80), rows: Math.max(2, stdout.rows || 24) });
  return new Promise((resolve) => {
    const sink = pourInto(1, {
      full: () => line.pause(),
      roomy: () => line.resume(),
      gone: () => finish({ kind: "left" }),
    });
    const readKeys = createLeaveKey();
    let over = false;

    const typed = (bytes: Buffer): void => {
      const { forAgent, leaves } = readKeys(bytes);
      if (forAgent.length > 0) line.typed(forAgent);
      if (leaves) finish({ kind: "left" });
    };
    const resized = (): void => line.say({ say: "resize", size: sizeNow() });
    const hungUp = (): void => finish({ kind: "left" });
    const screen = followFullScreen();
    let painted = false;

    function finish(ending: AttachEnding): void {
      if (over) return;
      over = true;
      clearTimeout(reading);
      stdin.off("data", typed).off("end", hungUp).off("error", hungUp);
      stdout.off("resize", resized);
      for (const name of ["SIGHUP", "SIGTERM"] as const) process.off(name, hungUp);
      line.close();
      if (painted) sink.pour(Buffer.from(`${screen.isFull() ? leaveFullScreen : ""}${calmDown}\r\n`));
      void Promise.race([sink.emptied(), new Promise((done) => setTimeout(done, 1000))]).then(() => {
        restore();
        stdin.pause();
        resolve(ending);
      });
    }

    line.onOutput((_, bytes) => {
      if (!painted) sink.pour(makeRoom(sizeNow().rows));
      painted = true;
      screen.take(bytes);
      sink.pour(bytes);
    });
    line.onMessage((message) => {
      if (message.say === "exited") finish({ kind: "ended", exit: message.exit });
      if (message.say === "misunderstood") finish({ kind: "refused", problem: message.problem });
    });
    void line.closed.then(() => finish({ kind: "lost" }));
    const restore = enterRawMode();
    stdin.on("data", typed).on("end", hungUp).on("error", hungUp);
    stdin.resume();
    stdout.on("resize", resized);
    for (const name of ["SIGHUP", "SIGTERM"] as const) process.on(name, hungUp);
    line.say({ say: "attach", size: sizeNow() });
    line.pause();
    const reading = setTimeout(() => line.resume(), readFor);
  });
}

/** Ctrl-], as telnet has it: rarely used by programs in a terminal. */
const prefix = 0x1d;
const leave = "d".charCodeAt(0);

/**
 * Separates our keys from the agent's: Ctrl-] d leaves, Ctrl-] Ctrl-] sends one Ctrl-] to the agent, Ctrl-] and any
 * other key both go to the agent.
 */
function createLeaveKey() {
  let pending = false;
  return (bytes: Buffer) => {
    const kept: number[] = [];
    for (const byte of bytes) {
      if (!pending) {
        if (byte === prefix) pending = true;
        else kept.push(byte);
        continue;
      }
      pending = false;
      if (byte === leave) return { forAgent: Buffer.from(kept), leaves: true };
      if (byte === prefix) kept.push(prefix);
      else kept.push(prefix, byte);
    }
    return { forAgent: Buffer.from(kept), leaves: false };
  };
}

/** The longest beginning of a screen switch that may stand at the end of a piece. */
const tailBytes = 40;
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with one
const switches = /\x1b\[\?(?:\d+;)*(?:1049|1047|47)(?:;\d+)*([hl])/g;

/** Follows whether a terminal that is shown these bytes is on its alternate screen, where full-screen programs draw. */
export function followFullScreen(): { take(bytes: Buffer): void; isFull(): boolean } {
  let full = false;
  let tail = "";
  return {
    take(bytes) {
      const text = tail + bytes.toString("latin1");
      for (const [, way] of text.matchAll(switches)) full = way === "h";
      tail = text.slice(-tailBytes);
    },
    isFull: () => full,
  };
}
