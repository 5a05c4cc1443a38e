import { homedir } from "node:os";
import { join } from "node:path";

export const homeFolder = (environment: NodeJS.ProcessEnv): string =>
  environment["ROUSE_HOME"] || join(homedir(), ".rouse");
