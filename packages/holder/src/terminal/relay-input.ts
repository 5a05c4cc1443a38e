import type { Readable, Writable } from "node:stream";

/** Our own input on its way to an agent, line by line or not. */
export interface Relay {
  /** The end of a line is still to come: whatever else is written now would end up inside it. */
  midLine(): boolean;
  stop(): void;
}

const newline = 10;

/** Passes on every byte, and the end. Slower readers make the writer wait. */
export function relayInput(from: Readable & { unref?(): unknown }, to: Writable): Relay {
  let last = newline;
  const pass = (bytes: Buffer): void => {
    last = bytes.at(-1) ?? last;
    if (!to.write(bytes)) from.pause();
  };
  const goOn = (): void => void from.resume();
  const end = (): void => void to.end();

  function stop(): void {
    from.off("data", pass).off("end", end).off("error", end);
    to.off("drain", goOn);
    from.pause();
    from.unref?.();
  }

  from.on("data", pass).on("end", end).on("error", end);
  to.on("drain", goOn).on("close", stop);
  return { midLine: () => last !== newline, stop };
}
