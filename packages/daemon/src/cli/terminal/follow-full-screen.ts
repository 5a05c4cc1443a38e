/** The longest beginning of a switch that may be cut off by the end of a piece. */
const tailBytes = 40;
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with one
const switches = /\x1b\[\?(?:\d+;)*(?:1049|1047|47)(?:;\d+)*([hl])/g;

/** Whether a terminal that was shown these bytes is on its alternate screen, where full-screen programs draw. */
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
