import { spawn, spawnSync } from "node:child_process";
import { constants } from "node:os";
import { inRepository, repository } from "./repository.mjs";

/** Command-line programs of our dependencies, started with the Node that runs this script. */
export const programs = {
  tsc: inRepository("node_modules", "typescript", "bin", "tsc"),
  biome: inRepository("node_modules", "@biomejs", "biome", "bin", "biome"),
  vitest: inRepository("node_modules", "vitest", "vitest.mjs"),
};

/** Runs `node …args` in the repository, shows its output, and says whether it succeeded. */
export function nodeSucceeds(args) {
  return spawnSync(process.execPath, args, { cwd: repository, stdio: "inherit" }).status === 0;
}

/** Runs npm itself, with the npm that started us when there is one. */
export function npmSucceeds(args) {
  const npm = process.env.npm_execpath;
  if (npm?.endsWith("npm-cli.js")) return nodeSucceeds([npm, ...args]);
  const shell = process.platform === "win32";
  return spawnSync("npm", args, { cwd: repository, stdio: "inherit", shell }).status === 0;
}

/** Hands the terminal over to `node …args`: signals are passed on to it, and its exit becomes ours. */
export function becomeNode(args) {
  const child = spawn(process.execPath, args, { cwd: repository, stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      // Ctrl-C in a terminal reaches the whole process group already; passed on, it would look like a second one.
      if (signal === "SIGINT" && process.stdin.isTTY) return;
      child.kill(signal);
    });
  }
  child.once("error", (error) => {
    console.error(`rouse: could not start ${args[0]}: ${error.message}.`);
    process.exit(1);
  });
  child.once("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // Some signals (SIGPIPE, …) do not end Node: then exit the way a shell would report it.
    setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 200);
  });
}
