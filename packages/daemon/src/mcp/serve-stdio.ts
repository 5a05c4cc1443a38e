import { once } from "node:events";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { connectRouse } from "@rouse/sdk";
import { findDaemon } from "../cli/find-daemon.ts";
import type { Surroundings } from "../cli/surroundings.ts";
import { agentTokenPrefix } from "../home/agent-token.ts";
import { createMcpServer } from "./create-mcp-server.ts";
import { environmentInside } from "./environment-inside.ts";
import type { Caller } from "./tools.ts";

/** Speaks MCP on stdin and stdout until stdin is closed. Without a daemon each tool answers that none is running. */
export async function serveOnStdio(here: Surroundings): Promise<void> {
  const handle = serveStdio(() => createMcpServer(() => callerIn(here)));
  await once(process.stdin, "close");
  await handle.close();
}

/**
 * The caller speaks with the token in its environment. Inside an agent that Rouse started that is the agent's own, also
 * where the program does not pass it on.
 */
async function callerIn(here: Surroundings): Promise<Caller> {
  const environment = environmentInside(here.environment);
  const address = await findDaemon({ environment, home: here.home });
  const { ROUSE_AGENT_ID, ROUSE_TASK_ID } = environment;
  return {
    rouse: connectRouse(address),
    self: ROUSE_AGENT_ID || null,
    task: ROUSE_TASK_ID || null,
    onlyItself: address.token.startsWith(agentTokenPrefix),
    now: here.now(),
  };
}
