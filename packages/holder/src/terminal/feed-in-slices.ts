/** The screen costs a CPU-second per 29 MB: this much per slice of 250 ms is a few percent of one. */
const mostPerSlice = 256 * 1024;
const mostWaiting = 128 * 1024;
const longestSearch = 16 * 1024;

/**
 * Lets through what a slice may hold; of the rest only the end is kept for the next slice, and goes on at a line start if one is near. An agent that
 * writes more than anybody could read still gets a screen that is up to date, though not every line passes over it. What a
 * skipped part changed about the terminal itself (colours, modes) is lost with it. `skip` is called where something is missing.
 */
export function createSlices(write: (bytes: Buffer) => void, skip: () => void) {
  let room = mostPerSlice;
  let waiting: Buffer[] = [];
  let held = 0;
  let skipped = false;

  return {
    feed(bytes: Buffer): void {
      if (held === 0 && bytes.length <= room) {
        room -= bytes.length;
        return write(bytes);
      }
      waiting.push(bytes);
      held += bytes.length;
      while (held - (waiting[0]?.length ?? 0) >= mostWaiting) {
        held -= waiting.shift()?.length ?? 0;
        skipped = true;
      }
    },
    next(): void {
      room = mostPerSlice;
      if (held === 0) return;
      const rest = Buffer.concat(waiting);
      const from = skipped || rest.length > mostPerSlice ? lineStart(rest) : 0;
      if (from > 0) skip();
      write(rest.subarray(from));
      waiting = [];
      held = 0;
      skipped = false;
    },
  };
}

/** A line start close by. Where there is none, the middle of a line has to do: what matters is at the end, perhaps in this very line. */
function lineStart(bytes: Buffer): number {
  const least = Math.max(0, bytes.length - mostWaiting);
  const newline = bytes.subarray(least, least + longestSearch).indexOf(10);
  return newline === -1 ? least : least + newline + 1;
}
