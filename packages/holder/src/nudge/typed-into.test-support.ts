import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** How an agent behaves that people type into. */
export interface TypedInto {
  /** In its box from the start. */
  readonly typed?: string;
  /** Pale, while nothing is typed. */
  readonly suggests?: string;
  /** Draws on the alternate screen, with its cursor in the box. */
  readonly fullScreen?: boolean;
  /** Shows what was sent above its box: at once, or marked as waiting until there is a file `go`. */
  readonly repeats?: "at-once" | "waiting";
  /** Shows nothing of what is typed. */
  readonly silent?: boolean;
  /** Shows it only once there is a file `go`. */
  readonly waits?: boolean;
  /** Above its box. */
  readonly says?: string;
  /** Opens below its box as soon as something is typed. */
  readonly opens?: string;
  /** Draws next to its box all the time, or once something is typed. */
  readonly restless?: "always" | "typed";
  /** Goes on working, and says so with a spinner. */
  readonly works?: boolean;
  /** Does not end when it is asked to. */
  readonly stubborn?: boolean;
}

/** What it read, read by read. */
export interface Reads {
  readonly command: readonly string[];
  all(): string[];
}

/** A program in raw mode that draws an input like Claude Code's, and writes down every read of its own. */
export function writeTypedInto(folder: string, behaviour: TypedInto = {}): Reads {
  const script = join(folder, "typed-into.cjs");
  const log = join(folder, "reads.jsonl");
  writeFileSync(script, `(${agent.toString()})(${JSON.stringify(behaviour)}, ${JSON.stringify(folder)});`);
  appendFileSync(log, "");
  return {
    command: [process.execPath, script],
    all: () =>
      readFileSync(log, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as string),
  };
}

/** Runs in a process of its own: uses nothing from outside. */
function agent(does: TypedInto, folder: string): void {
  const fs = require("node:fs") as typeof import("node:fs");
  const { stdin, stdout } = process;
  const rule = "─".repeat(60);
  let text = does.typed ?? "";
  let ticks = 0;
  let drawn = 0;
  const shown = (): string => {
    if (does.silent || (does.waits && !fs.existsSync(`${folder}/go`))) return does.typed ?? "";
    return text;
  };
  const isRestless = (): boolean => does.restless === "always" || (does.restless === "typed" && shown() !== "");
  let sent: string | null = null;
  const repeated = (): string[] => {
    if (sent === null || does.repeats === undefined) return [];
    const isWaiting = does.repeats === "waiting" && !fs.existsSync(`${folder}/go`);
    return [`❯ ${sent}`, ...(isWaiting ? ["  ctrl+x ctrl+s to send now"] : []), ""];
  };
  const lines = (): string[] => [
    ...(does.says ?? "● Working on it.").split("\n"),
    ...repeated(),
    ...(does.works ? [`${"✻✽✶"[ticks % 3]} Pondering… (${ticks}s · esc to interrupt)`, ""] : []),
    isRestless() ? `${rule} step ${ticks}` : rule,
    ...(shown() === "" && does.suggests !== undefined
      ? [`❯ \x1b[7m${does.suggests[0]}\x1b[27m\x1b[2m${does.suggests.slice(1)}\x1b[22m`]
      : (`❯ ${shown()}`.match(/.{1,58}/gu) ?? [])),
    rule,
    "  ? for shortcuts",
    ...(does.opens !== undefined && shown() !== "" ? does.opens.split("\n") : []),
  ];
  const draw = (): void => {
    const rows = lines();
    const up = drawn > 1 ? `\x1b[${drawn - 1}A` : "";
    const box = rows.findLastIndex((row) => row.startsWith("❯")) + 1;
    if (does.fullScreen) stdout.write(`\x1b[H\x1b[J${rows.join("\r\n")}\x1b[${box};3H`);
    else stdout.write(`${up}\r\x1b[J${rows.join("\r\n")}`);
    drawn = rows.length;
  };
  stdin.setRawMode(true);
  stdin.on("data", (bytes: Buffer) => {
    fs.appendFileSync(`${folder}/reads.jsonl`, `${JSON.stringify(bytes.toString("utf8"))}\n`);
    for (const key of bytes.toString("utf8")) {
      if (key === "\r") {
        sent = text;
        text = "";
      } else if (key === "\x7f") text = text.slice(0, -1);
      else text += key;
    }
    draw();
  });
  if (does.stubborn) process.on("SIGTERM", () => stdout.write("\x07"));
  if (does.fullScreen) stdout.write("\x1b[?1049h\x1b[H");
  draw();
  if (does.restless || does.works || does.waits || does.repeats === "waiting")
    setInterval(
      () => {
        ticks++;
        draw();
      },
      does.restless ? 20 : 50,
    );
}

export const letGo = (folder: string): void => {
  if (!existsSync(join(folder, "go"))) writeFileSync(join(folder, "go"), "");
};
