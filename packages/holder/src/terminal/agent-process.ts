export type Stream = "out" | "err";

/** `code` is `null` when a signal ended it. */
export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
}

/** What hears an agent. `ended` comes last, after every byte that was written. */
export interface Ears {
  wrote(stream: Stream, bytes: Buffer): void;
  ended(how: Ended): void;
}

/** A running agent, whether it has a terminal or pipes. */
export interface AgentProcess {
  readonly pid: number;
  /** As if typed. Nobody can type into pipes. */
  write(bytes: Buffer): void;
  /** Into whatever it reads from. Resolves to whether that took it; `false` as well when it reads from nothing, or no more. */
  deliver(bytes: Buffer): Promise<boolean>;
  /** Between pipes: a line that others pass to it is not complete yet. */
  midLine(): boolean;
  resize(cols: number, rows: number): void;
  /** Read no more until `resume`: the agent waits once what lies between us is full. */
  pause(): void;
  resume(): void;
  kill(signal: NodeJS.Signals): void;
  /** The terminal it was started from is gone: it hears of that as it would without us. */
  hangUp(): void;
}

/** What is needed to start one, its command already found. */
export interface Start {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cols: number;
  readonly rows: number;
  /** Forks inside the agent's control group where there is one. */
  spawnInside<T>(fork: () => T): T;
}
