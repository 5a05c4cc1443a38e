import { Fault } from "@rouse/contract";

export const defaultPort = 7433;

/** The port on which `rouse up` listens: the option wins over ROUSE_PORT, and ROUSE_PORT over the default. */
export function choosePort(option: number | undefined, environment: NodeJS.ProcessEnv): number {
  return option ?? readPortVariable(environment) ?? defaultPort;
}

/** The value of ROUSE_PORT; `null` when it is not set. */
export function readPortVariable({ ROUSE_PORT: text }: NodeJS.ProcessEnv): number | null {
  if (text === undefined || text === "") return null;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new Fault(
    "bad-request",
    `ROUSE_PORT is ${JSON.stringify(text)}; set it to a whole number from 0 (any free port) to 65535, or unset it`,
  );
}
