/** As a terminal takes bytes: `done` is called when they are drawn. */
type TakeBytes = (bytes: Buffer | string, done: () => void) => void;

/** The event loop gets a turn only between two pieces: this many bytes cost a tenth of a second at worst. */
const pieceBytes = 512;
/** Bytes handed over at once. They cannot be taken back. */
const mostHanded = 16 * pieceBytes;
/** Twenty times what the most bytes of one slice cost if they are text. */
const mostMsPerSlice = 100;
/** Enough for a screen full of text. */
const tailBytes = 16 * pieceBytes;

/**
 * Draws in small pieces, and no longer than a bounded time per slice, because the cost of a byte is up to its writer.
 * When the time is used up, only the end of what waits is drawn, and `skip` is called before it. `spentMs` is a clock
 * of processor time: on a busy machine nothing is left out for the time that other processes took.
 */
export function drawInTime(write: TakeBytes, skip: () => void, spentMs: () => number) {
  let queue: (Buffer | (() => void))[] = [];
  let busy = false;
  let spent = 0;

  function goOn(): void {
    if (busy) return;
    const [first] = queue;
    if (first === undefined) return;
    if (typeof first === "function") return lookNow(first);
    if (spent >= mostMsPerSlice && !leaveOut()) return;
    handOver(takeSome(queue));
  }

  function lookNow(look: () => void): void {
    busy = true;
    queue.shift();
    write("", () => {
      spent = 0;
      busy = false;
      look();
      goOn();
    });
  }

  /** Leaves nothing out before a look is asked for: until then the end is not known. */
  function leaveOut(): boolean {
    const until = queue.findIndex((each) => typeof each === "function");
    if (until === -1) return false;
    const rest = Buffer.concat(queue.slice(0, until) as Buffer[]);
    if (rest.length <= tailBytes) return true;
    skip();
    queue = [tailOf(rest), ...queue.slice(until)];
    return true;
  }

  function handOver(bytes: Buffer): void {
    busy = true;
    let began = 0;
    write("", () => {
      began = spentMs();
    });
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const isLast = at + pieceBytes >= bytes.length;
      write(bytes.subarray(at, at + pieceBytes), () => {
        if (!isLast) return;
        spent += spentMs() - began;
        busy = false;
        goOn();
      });
    }
  }

  return {
    draw(bytes: Buffer): void {
      if (bytes.length === 0) return;
      queue.push(bytes);
      goOn();
    },
    /** Calls `look` when everything given so far is drawn or left out, and nothing that came later. Ends a slice. */
    look(look: () => void): void {
      queue.push(look);
      goOn();
    },
  };
}

/** As much as is handed over at once, from the front of the queue up to the next look. */
function takeSome(queue: (Buffer | (() => void))[]): Buffer {
  const taken: Buffer[] = [];
  for (let room = mostHanded; room > 0; ) {
    const [first] = queue;
    if (!Buffer.isBuffer(first)) break;
    taken.push(first.subarray(0, room));
    if (first.length > room) queue[0] = first.subarray(room);
    else queue.shift();
    room -= first.length;
  }
  return Buffer.concat(taken);
}

function tailOf(bytes: Buffer): Buffer {
  const tail = bytes.subarray(-tailBytes);
  const newline = tail.subarray(0, tailBytes / 8).indexOf(10);
  return tail.subarray(newline + 1);
}

/** Drawing takes a CPU-second per 29 MB: this many bytes per slice of 250 ms are a few percent of one core. */
const mostPerSlice = 256 * 1024;
const mostWaiting = 128 * 1024;
const longestSearch = 16 * 1024;

/**
 * Passes on what a slice may hold. Of the rest only the end is kept for the next slice, from a line start if one is
 * near. An agent that writes more than anybody could read still gets a current screen, but not every line passes over
 * it. Colours and modes that a skipped part set are lost. `skip` is called where something is missing.
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

/** A line start close by, or else the middle of a line: what matters is at the end, perhaps in this very line. */
function lineStart(bytes: Buffer): number {
  const least = Math.max(0, bytes.length - mostWaiting);
  const newline = bytes.subarray(least, least + longestSearch).indexOf(10);
  return newline === -1 ? least : least + newline + 1;
}
