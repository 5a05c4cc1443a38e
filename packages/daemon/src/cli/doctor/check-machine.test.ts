import { createServer } from "node:net";
import { hours, seconds } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { describeBytes, mebibyte } from "./check.ts";
import { findListener } from "./check-daemon.ts";
import { checkClocks, checkMemory, checkNode, readClocks } from "./check-machine.ts";

describe("doctor looks at", () => {
  it("the version of Node", () => {
    const verdicts = ["20.19.0", "22.1.0", "20.18.9", "18.20.0"].map((version) => checkNode(version).verdict);
    expect(verdicts).toEqual(["ok", "ok", "fail", "fail"]);
  });

  it("the clocks, and takes a nap of the machine for what it is", () => {
    const wall = Date.parse("2026-02-05T10:00:00Z");
    const mono = hours(5);
    const judge = (boot: number, at = wall, startedAt: string | null = null) =>
      checkClocks({ boot, mono, wall: at }, startedAt);
    expect(judge(mono)).toMatchObject({ verdict: "ok", text: "all clocks agree" });
    expect(judge(mono + hours(3))).toMatchObject({
      verdict: "ok",
      text: "agree; the machine slept 3 h since it started",
    });
    expect(judge(mono - seconds(60)).verdict).toBe("warn");
    expect(judge(mono, 0).verdict).toBe("warn");
    expect(judge(mono, wall, "2026-02-05T11:00:00Z").verdict).toBe("warn");
    expect(checkClocks(readClocks(), null).name).toBe("clock");
  });

  it("the memory that is left", () => {
    const verdicts = [32, 128, 4096].map((free) => checkMemory(free * mebibyte, 8192 * mebibyte).verdict);
    expect(verdicts).toEqual(["fail", "warn", "ok"]);
    expect([0, 1023, 1024, 1.5 * mebibyte, 300 * mebibyte].map(describeBytes)).toEqual([
      "0 bytes",
      "1023 bytes",
      "1.0 KiB",
      "1.5 MiB",
      "300 MiB",
    ]);
  });

  it.skipIf(process.platform !== "linux")("who listens on a port", async () => {
    const server = createServer();
    const port = await new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port));
    });
    expect(await findListener(port)).toMatch(new RegExp(`^process ${process.pid} \\(.+\\)$`));
    await new Promise((resolve) => server.close(resolve));
    expect(await findListener(port)).toBeNull();
  });
});
