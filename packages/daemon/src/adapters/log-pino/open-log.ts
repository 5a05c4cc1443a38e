import { printable } from "@rouse/contract";
import { pino } from "pino";
import type { Log } from "../../ports/log.ts";
import { openRotatingFile, type RotatingFileOptions } from "./rotating-file.ts";

/** Lines for people on a terminal, lines of JSON elsewhere; always on stderr, because stdout is for answers. */
export function openLog(level: "info" | "warn" = "info"): Log {
  if (process.stderr.isTTY) return level === "info" ? toTerminal : { ...toTerminal, info: () => undefined };
  return pino({ name: "rouse", level, base: null }, pino.destination({ dest: 2, sync: true }));
}

/** For a daemon without a terminal: lines of JSON in a file, with times and levels that a person can read too. */
export function openFileLog(file: Omit<RotatingFileOptions, "wordLoss">): Log {
  const name = "rouse";
  const wordLoss = (lines: number, reason: string): string => {
    const time = new Date().toISOString();
    return `${JSON.stringify({ level: "warn", time, name, lines, reason, msg: "lines that belong here could not be written" })}\n`;
  };
  const shape = {
    name,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level: string) => ({ level }) },
  };
  return pino(shape, openRotatingFile({ ...file, wordLoss }));
}

const toTerminal: Log = {
  info: (fields, message) => write("info ", fields, message),
  warn: (fields, message) => write("WARN ", fields, message),
  error: (fields, message) => write("ERROR", fields, message),
};

function write(level: string, fields: object, message: string): void {
  const details = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const time = new Date().toTimeString().slice(0, 8);
  const line = details.length === 0 ? message : `${message} (${details.join(" ")})`;
  process.stderr.write(`${time} ${level} ${printable(line, 2000)}\n`);
}
