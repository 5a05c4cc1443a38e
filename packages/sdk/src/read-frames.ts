/** One server-sent event. A frame without data only moves the place to go on from. */
export interface Frame {
  readonly id: string | null;
  readonly data: string | null;
}

/** Cuts a stream of bytes into frames. `heard` is called for every piece that arrives, comments included. */
export async function* readFrames(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<Frame, void, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let lines: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return; // a frame that was not finished is not an event
    heard();
    // A carriage return at the very end may be half of a line end.
    const pieces = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!\n|$)/);
    rest = pieces.pop() ?? "";
    for (const line of pieces) {
      if (line !== "") lines.push(line);
      else {
        const frame = toFrame(lines);
        lines = [];
        if (frame.id !== null || frame.data !== null) yield frame;
      }
    }
  }
}

function toFrame(lines: readonly string[]): Frame {
  let id: string | null = null;
  const data: string[] = [];
  for (const line of lines) {
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") id = value;
    if (field === "data") data.push(value);
  }
  return { id, data: data.length === 0 ? null : data.join("\n") };
}
