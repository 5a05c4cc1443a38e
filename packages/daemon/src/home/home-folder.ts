import { homedir } from "node:os";
import { join } from "node:path";

// Every command loads this file, so it imports nothing else.

export const homeFolder = (environment: NodeJS.ProcessEnv): string =>
  environment["ROUSE_HOME"] || join(homedir(), ".rouse");

/** How `rouse` is called from another terminal, to print: ROUSE_HOME has to be named where it is set. */
export const callOf = (environment: NodeJS.ProcessEnv, folder: string): string =>
  `${environment["ROUSE_HOME"] === undefined ? "" : `ROUSE_HOME=${folder} `}npx rouse`;
