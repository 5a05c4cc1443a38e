import type { Size } from "../protocol/messages.ts";
import type { Stream } from "./agent-process.ts";

/** What somebody at the terminal an agent was started from can do to it. */
export interface Handle {
  type(bytes: Buffer): void;
  resize(size: Size): void;
  /** One that was sent to us and is meant for the agent. */
  signal(name: NodeJS.Signals): void;
  /** Somebody pressed a key that interrupts, and the terminal has told the agent itself. */
  interrupted(): void;
  /** We were told to end, and the agent ends with us. */
  terminate(): void;
  /** The terminal is gone, or whoever read the output. `sent`: only the signal came, and the terminal is still there. */
  hangUp(sent: boolean): void;
  pause(): void;
  resume(): void;
}

/** Where `rouse run` was typed. */
export interface Foreground {
  /** `null` when it is no terminal. */
  size(): Size | null;
  begin(handle: Handle): void;
  show(stream: Stream, bytes: Buffer): void;
  /** Shows what is still waiting and leaves the terminal as it was found. */
  end(how: { readonly killed: boolean; readonly fullScreen: boolean; readonly lastWord: string | null }): Promise<void>;
}
