/** Another screen without a cursor, on which long rows are cut and not continued; and back. */
const enter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const leave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/** Terminals that know these draw a frame at once; the others take no notice. */
const beginFrame = "\x1b[?2026h\x1b[H";
const endFrame = "\x1b[?2026l";
/** What was in a row, or in it and all below. Before the row is written: behind a full one the cursor stands on its last character. */
const clearRow = "\x1b[K";
const clearRest = "\x1b[J";

export interface HeldScreen {
  /** Draws over what was there; nothing is written when nothing has changed. */
  draw(rows: readonly string[]): void;
  /** Gives the terminal back as it was. Twice is fine. */
  release(): void;
}

/** The whole terminal for a picture that stays where it is. It is given back however this process ends, unless it is killed. */
export function holdScreen(stdout: Pick<NodeJS.WriteStream, "write" | "rows">): HeldScreen {
  let drawn = "";
  let released = false;
  const release = (): void => {
    if (released) return;
    released = true;
    process.off("exit", release);
    stdout.write(leave);
  };
  process.on("exit", release);
  stdout.write(enter);
  return {
    draw(rows) {
      const shown = fit(rows, stdout.rows || 24);
      const last = shown.length - 1;
      const frame = shown.map((row, index) => `${index === last ? clearRest : clearRow}${row}`).join("\r\n");
      if (frame === drawn || released) return;
      drawn = frame;
      stdout.write(`${beginFrame}${frame}${endFrame}`);
    },
    release,
  };
}

/** What has no room is counted, so that nobody takes the last row for the last agent. */
export function fit(rows: readonly string[], height: number): readonly string[] {
  if (rows.length <= height) return rows;
  const left = rows.length - height + 1;
  return [...rows.slice(0, height - 1), `… ${left} more rows; a filter shows fewer agents (rouse ps --help)`];
}
