import type { Progress } from "./replay-recordings.ts";

/** Milliseconds between two updates. */
const every = 200;
const clearLine = "\r\u001b[K";

/** A line that is overwritten, on a terminal only. */
export function createProgressLine(
  out: Pick<NodeJS.WriteStream, "isTTY" | "write">,
  totalBytes: number | null,
  now: () => number = () => performance.now(),
) {
  if (!out.isTTY) return { tell: () => undefined, clear: () => undefined };
  let toldAt = now();
  let written = false;
  return {
    tell({ bytes, events, runs }: Progress): void {
      const at = now();
      if (at - toldAt < every) return;
      toldAt = at;
      written = true;
      const share =
        totalBytes === null || totalBytes === 0 ? "" : `${Math.min(99, Math.floor((100 * bytes) / totalBytes))} %, `;
      out.write(
        `${clearLine}replaying: ${share}${runs.toLocaleString("en")} runs, ${events.toLocaleString("en")} events`,
      );
    },
    clear(): void {
      if (written) out.write(clearLine);
      written = false;
    },
  };
}
