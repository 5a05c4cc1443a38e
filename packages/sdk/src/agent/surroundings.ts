/** As much of Node's `process` as is used here; there is none in a browser or at the edge. */
export interface HostProcess {
  readonly pid: number;
  readonly env: Record<string, string | undefined>;
  getBuiltinModule?: (name: string) => unknown;
  kill(pid: number, signal: string | number): true;
  on(event: "SIGTERM", hear: () => void): unknown;
  off(event: "SIGTERM", hear: () => void): unknown;
  listenerCount(event: "SIGTERM"): number;
}

export const hostProcess = (): HostProcess | null => {
  const found = (globalThis as { process?: Partial<HostProcess> }).process;
  return typeof found?.pid === "number" && typeof found.on === "function" ? (found as HostProcess) : null;
};

interface NodeCrypto {
  /** As hex. */
  hash?(algorithm: "sha256", text: string): string;
}

let nodeCrypto: NodeCrypto | undefined;

/** SHA-256 in hex. At once on Node, where a job for another thread costs far more; `null` where nothing can make it. */
export async function hashOf(text: string): Promise<string | null> {
  nodeCrypto ??= hostProcess()?.getBuiltinModule?.("node:crypto") as NodeCrypto | undefined;
  if (nodeCrypto?.hash !== undefined) return nodeCrypto.hash("sha256", text);
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  if (subtle === undefined) return null;
  const hash = await subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** As much of `node:fs/promises` as is used here. */
export interface Files {
  readFile(path: string, encoding: "utf8"): Promise<string>;
  readdir(path: string): Promise<string[]>;
  mkdir(path: string, options: { recursive: true; mode: number }): Promise<unknown>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: true }): Promise<void>;
  stat(path: string): Promise<{ isDirectory(): boolean }>;
  lstat(path: string): Promise<{ isFile(): boolean; readonly size: number }>;
  open(path: string, flags: string, mode?: number): Promise<OpenFile>;
}

interface OpenFile {
  writeFile(text: string): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** `null` where there are no files. Loaded when needed; bundlers for browsers do not look behind a variable. */
export async function loadFiles(): Promise<Files | null> {
  if (hostProcess() === null) return null;
  const name = "node:fs/promises";
  return import(/* @vite-ignore */ /* webpackIgnore: true */ name).then(
    (files: Files) => files,
    () => null,
  );
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The data folder of a Rouse on this machine. */
export function homeIn(env: Environment): string | null {
  if (env["ROUSE_HOME"]) return env["ROUSE_HOME"];
  const home = env["HOME"] ?? env["USERPROFILE"];
  return home ? `${home}/.rouse` : null;
}

/** Calls back later, without keeping the program alive. Returns what calls it off. */
export function afterMs(ms: number, call: () => void): () => void {
  const timer: unknown = setTimeout(call, Math.max(0, Math.min(ms, 2 ** 31 - 1)));
  (timer as { unref?: () => void }).unref?.();
  // Deno's timers are numbers.
  (globalThis as { Deno?: { unrefTimer?: (timer: unknown) => void } }).Deno?.unrefTimer?.(timer);
  return () => clearTimeout(timer as number);
}

/** Resolves with true when it happened, with false when that took too long. */
export function within(ms: number, happens: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    // Somebody waits for it, so this one does keep the program alive.
    const timer = setTimeout(() => resolve(false), ms);
    const done = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    happens.then(done, done);
  });
}

/** Milliseconds that only go forward, whatever is done to the clock on the wall. */
export const steadyNow = (): number => performance.now();
