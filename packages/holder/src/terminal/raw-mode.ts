import { spawnSync } from "node:child_process";

/** Every key goes through and every byte is shown as it is, until the returned function, or the end of this process, puts the terminal back. */
export function enterRawMode(): () => void {
  const { stdin } = process;
  const restore = (): void => {
    process.off("exit", restore);
    if (stdin.isRaw) stdin.setRawMode(false);
  };
  stdin.setRawMode(true);
  // Node's raw mode still turns every line feed into two characters, which breaks what full-screen programs draw. Where there
  // is no stty it stays so; all of it is undone together.
  spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
  process.once("exit", restore); // every other way out
  return restore;
}
