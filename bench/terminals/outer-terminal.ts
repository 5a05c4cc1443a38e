import { environmentOf, rouse, thisProgram } from "../start-servers.ts";
import { openPty, type Pty } from "./open-pty.ts";

/** Who stands between the person and the command. */
export type Between = "ours" | "bare";

/** As if a person had typed it: one terminal for whoever stands between, who opens another for the command. */
export function runInTerminal(
  between: Between,
  home: string,
  command: readonly string[],
  take: (bytes: Buffer) => void,
): Pty {
  const words = between === "ours" ? [rouse, "run", "--"] : [thisProgram(), "relay"];
  const setting = { cwd: home, env: environmentOf(home), cols: 120, rows: 40 };
  return openPty([process.execPath, ...words, ...command], setting, take);
}
