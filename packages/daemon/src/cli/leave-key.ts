/** Ctrl-], as telnet has it: rarely used by programs in a terminal. */
const prefix = 0x1d;
const leave = "d".charCodeAt(0);

export interface Typed {
  /** What goes to the agent. */
  readonly forAgent: Buffer;
  readonly leaves: boolean;
}

/**
 * Tells the keys that are meant for us from those for the agent: Ctrl-] d leaves, Ctrl-] Ctrl-] is one Ctrl-] for the agent, Ctrl-] and any other key are both
 * the agent's.
 */
export function createLeaveKey(): (bytes: Buffer) => Typed {
  let pending = false;
  return (bytes) => {
    const kept: number[] = [];
    for (const byte of bytes) {
      if (!pending) {
        if (byte === prefix) pending = true;
        else kept.push(byte);
        continue;
      }
      pending = false;
      if (byte === leave) return { forAgent: Buffer.from(kept), leaves: true };
      if (byte === prefix) kept.push(prefix);
      else kept.push(prefix, byte);
    }
    return { forAgent: Buffer.from(kept), leaves: false };
  };
}
