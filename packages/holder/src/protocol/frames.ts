/**
 * Frames on a holder's socket: four bytes of length, one byte of kind, the payload. Messages are JSON, output and typed
 * input are plain bytes. Output has the offset of its first byte before it.
 */
const kinds = { json: 1, output: 2, input: 3 } as const;

export type Frame =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "output"; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: "input"; readonly bytes: Buffer };

/** Longer than any frame we send: a peer that announces more is not one of ours. */
const longest = 16 * 1024 * 1024;

export function jsonFrame(value: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(value), "utf8");
  return Buffer.concat([header(body.length, kinds.json), body]);
}

/** The header only: the bytes are sent after it, without being copied. */
export function outputHeader(offset: number, length: number): Buffer {
  const head = Buffer.allocUnsafe(13);
  head.writeUInt32BE(length + 9, 0);
  head[4] = kinds.output;
  head.writeBigUInt64BE(BigInt(offset), 5);
  return head;
}

export function inputFrame(bytes: Buffer): Buffer {
  return Buffer.concat([header(bytes.length, kinds.input), bytes]);
}

function header(length: number, kind: number): Buffer {
  const head = Buffer.allocUnsafe(5);
  head.writeUInt32BE(length + 1, 0);
  head[4] = kind;
  return head;
}

/**
 * Puts frames together from the pieces that arrive. Throws on what cannot be a frame: the connection is useless then.
 */
export function createFrameReader(take: (frame: Frame) => void): (chunk: Buffer) => void {
  let pieces: Buffer[] = [];
  let held = 0;

  return (chunk) => {
    pieces.push(chunk);
    held += chunk.length;
    let wanted = nextLength();
    while (wanted !== null && held >= wanted) {
      const whole = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
      const rest = whole.subarray(wanted);
      pieces = rest.length === 0 ? [] : [rest];
      held = rest.length;
      take(readFrame(whole.subarray(4, wanted)));
      wanted = nextLength();
    }
  };

  function nextLength(): number | null {
    if (held < 4) return null;
    if ((pieces[0] as Buffer).length < 4) pieces = [Buffer.concat(pieces)];
    const length = (pieces[0] as Buffer).readUInt32BE(0);
    if (length < 1 || length > longest) throw new Error(`a frame of ${length} bytes`);
    return length + 4;
  }
}

function readFrame(body: Buffer): Frame {
  const payload = body.subarray(1);
  switch (body[0]) {
    case kinds.json:
      return { kind: "json", value: JSON.parse(payload.toString("utf8")) };
    case kinds.output:
      if (payload.length < 8) throw new Error("an output frame without its offset");
      return { kind: "output", offset: Number(payload.readBigUInt64BE(0)), bytes: payload.subarray(8) };
    case kinds.input:
      return { kind: "input", bytes: payload };
    default:
      throw new Error(`a frame of unknown kind ${body[0]}`);
  }
}
