export type Verdict = "ok" | "warn" | "fail";

/** One thing that was looked at, and what to do about it. */
export interface Check {
  readonly name: string;
  readonly verdict: Verdict;
  readonly text: string;
  readonly advice?: string;
}

export const ok = (name: string, text: string): Check => ({ name, verdict: "ok", text });
export const warn = (name: string, text: string, advice: string): Check => ({ name, verdict: "warn", text, advice });
export const fail = (name: string, text: string, advice: string): Check => ({ name, verdict: "fail", text, advice });

/** "512 MiB", "3.2 GiB": for people. */
export function describeBytes(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, bytes < 1024 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const amount = bytes / 1024 ** power;
  return `${power === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[power]}`;
}

export const gibibyte = 1024 ** 3;
export const mebibyte = 1024 ** 2;
