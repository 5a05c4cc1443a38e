import { describe, expect, it } from "vitest";
import { type Frame, readFrames } from "./follow-events.ts";

async function framesIn(...pieces: (string | Uint8Array)[]): Promise<Frame[]> {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
      controller.close();
    },
  });
  const frames: Frame[] = [];
  for await (const frame of readFrames(body, () => undefined)) frames.push(frame);
  return frames;
}

describe("a stream of server-sent events", () => {
  it("is the same wherever the network cuts it", async () => {
    const text = ': hello\r\n\r\nid: 7\r\nevent: X\r\ndata: {"a":\r\ndata: 1}\r\n\r\nid: 8\r\rdata:é\n\n';
    const bytes = new TextEncoder().encode(text);
    const whole = await framesIn(text);
    expect(whole).toEqual([
      { id: "7", data: '{"a":\n1}' },
      { id: "8", data: null },
      { id: null, data: "é" },
    ]);
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(await framesIn(bytes.subarray(0, cut), bytes.subarray(cut)), `cut at ${cut}`).toEqual(whole);
    }
  });

  it("drops a frame that was not finished", async () => {
    expect(await framesIn("id: 1\ndata: 1\n\nid: 2\ndata: 2\n")).toEqual([{ id: "1", data: "1" }]);
  });

  it("counts a comment as a sign of life", async () => {
    let heard = 0;
    const body = new Response(": still here\n\n").body as ReadableStream<Uint8Array>;
    for await (const _ of readFrames(body, () => heard++)) expect.unreachable();
    expect(heard).toBe(1);
  });
});
