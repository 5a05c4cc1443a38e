import { accessSync, constants, statSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { Fault } from "@rouse/contract";

/** Where a shell looks when there is no PATH. */
const usualPath = "/usr/local/bin:/usr/bin:/bin";

/** The file that execvp would run. Asked first: in a terminal a missing command shows only as exit code 1. */
export function findCommand(command: string, cwd: string, env: Readonly<Record<string, string>>): string {
  if (kindOf(cwd) !== "folder") {
    throw new Fault("folder-gone", `the working folder ${cwd} does not exist or is not a folder`);
  }
  const places = command.includes("/") ? [cwd] : (env["PATH"] ?? usualPath).split(delimiter);
  const files = command === "" ? [] : places.map((place) => resolve(cwd, place, command));
  const found = files.find(isExecutable);
  if (found !== undefined) return found;

  const there = files.find((file) => kindOf(file) !== "nothing");
  if (there === undefined) {
    const where = command.includes("/") ? "no such file" : "not found in PATH";
    throw new Fault("command-not-found", `cannot run ${JSON.stringify(command)}: ${where}`);
  }
  const why = kindOf(there) === "folder" ? "it is a folder" : "it is not executable (chmod +x would make it so)";
  throw new Fault("not-executable", `cannot run ${there}: ${why}`);
}

function kindOf(path: string): "folder" | "other" | "nothing" {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: false });
  if (stat === undefined) return "nothing";
  return stat.isDirectory() ? "folder" : "other";
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return kindOf(file) === "other";
  } catch {
    return false;
  }
}
