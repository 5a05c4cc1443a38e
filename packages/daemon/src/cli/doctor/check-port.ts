import { createServer } from "node:net";
import { Fault } from "@rouse/contract";
import { choosePort } from "../choose-port.ts";
import { type Check, fail, ok } from "./check.ts";
import type { DaemonSeen } from "./check-daemon.ts";
import { findListener } from "./find-listener.ts";

/** Can `rouse up` listen where it would? */
export async function checkPort({ answers, left }: DaemonSeen, environment: NodeJS.ProcessEnv): Promise<Check> {
  const name = "port";
  const url = left !== null && URL.canParse(left.url) ? new URL(left.url) : null;
  if (answers && url !== null) return ok(name, `the daemon listens on ${url.host}`);
  const wanted = readWanted(environment);
  if (wanted instanceof Fault) return fail(name, wanted.message, "see above");
  const port = Number(url?.port || wanted);
  const code = await tryToListen(port);
  if (code === null) return ok(name, `${port} is free`);
  if (code !== "EADDRINUSE") return fail(name, `${port} cannot be used (${code})`, "start with another --port");
  const holder = await findListener(port);
  return fail(
    name,
    `${port} is taken${holder === null ? "" : ` by ${holder}`}`,
    "stop that, or start with another --port",
  );
}

function readWanted(environment: NodeJS.ProcessEnv): number | Fault {
  try {
    return choosePort(undefined, environment);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function tryToListen(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(null)));
  });
}
