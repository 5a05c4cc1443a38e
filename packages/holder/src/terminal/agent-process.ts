export type Stream = "out" | "err";

/** `code` is `null` when a signal ended it. */
export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
}

/** Called with an agent's output and end. `ended` comes last, after every byte that was written. */
export interface Ears {
  wrote(stream: Stream, bytes: Buffer): void;
  ended(how: Ended): void;
}

/** A running agent, whether it has a terminal or pipes. */
export interface AgentProcess {
  readonly pid: number;
  /** Writes bytes as if they were typed. Between pipes it does nothing. */
  write(bytes: Buffer): void;
  /** Writes to the agent's input. Resolves to whether it was taken: not when the agent reads nothing, or no more. */
  deliver(bytes: Buffer): Promise<boolean>;
  /** Between pipes: a line that is passed on to the agent is not complete yet. */
  midLine(): boolean;
  resize(cols: number, rows: number): void;
  /** Stops reading until `resume`: the agent waits once the buffers between us are full. */
  pause(): void;
  resume(): void;
  kill(signal: NodeJS.Signals): void;
  /** The terminal it was started from is gone: the agent is told as it would be without us. */
  hangUp(): void;
}

/** What is needed to start an agent, its command already found. */
export interface Start {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cols: number;
  readonly rows: number;
  /** Forks inside the agent's control group where there is one. */
  spawnInside<T>(fork: () => T): T;
}
