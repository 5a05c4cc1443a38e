import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFrameReader, type Frame, inputFrame, jsonFrame, outputHeader } from "./frames.ts";

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const frame: fc.Arbitrary<Frame> = fc.oneof(
  fc.jsonValue().map((value) => ({ kind: "json" as const, value: JSON.parse(JSON.stringify(value)) as unknown })),
  fc.record({ kind: fc.constant("output" as const), offset: fc.maxSafeNat(), bytes }),
  fc.record({ kind: fc.constant("input" as const), bytes }),
);

function pack(one: Frame): Buffer {
  switch (one.kind) {
    case "json":
      return jsonFrame(one.value);
    case "output":
      return Buffer.concat([outputHeader(one.offset, one.bytes.length), one.bytes]);
    case "input":
      return inputFrame(one.bytes);
  }
}

function read(chunks: readonly Buffer[]): Frame[] {
  const frames: Frame[] = [];
  const reader = createFrameReader((one) => frames.push(one));
  for (const chunk of chunks) reader(chunk);
  return frames;
}

describe("frames", () => {
  it("come out as they went in, however the bytes are cut", () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 8 }), fc.integer({ min: 1, max: 50 }), (frames, step) => {
        const whole = Buffer.concat(frames.map(pack));
        const chunks = Array.from({ length: Math.ceil(whole.length / step) }, (_, index) =>
          whole.subarray(index * step, (index + 1) * step),
        );
        expect(read(chunks)).toEqual(frames);
        expect(read([whole])).toEqual(frames);
      }),
    );
  });

  it("of somebody who speaks otherwise are refused at once", () => {
    expect(() => read([Buffer.from("GET / HTTP/1.1\r\n\r\n")])).toThrow("a frame of");
    expect(() => read([Buffer.from([0, 0, 0, 0])])).toThrow("a frame of 0 bytes");
    expect(() => read([Buffer.from([0, 0, 0, 1, 9])])).toThrow("unknown kind 9");
    expect(() => read([Buffer.from([0, 0, 0, 3, 1, 0x7b, 0x7b])])).toThrow();
    expect(() => read([Buffer.from([0, 0, 0, 2, 2, 1])])).toThrow("without its offset");
  });
});
