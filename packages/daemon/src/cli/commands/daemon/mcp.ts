import { findDaemon } from "../../find-daemon.ts";
import type { AddCommand } from "../add-command.ts";

const afterword = `
For programs that speak MCP: \`claude mcp add rouse -- rouse mcp\`. It asks with
the token in ROUSE_TOKEN, inside an agent that Rouse started its own, else with
the owner's. The daemon serves the same at /mcp.`;

export const addMcp: AddCommand = (program, here) => {
  program
    .command("mcp")
    .description("let other programs and agents ask about health, over MCP on stdin and stdout")
    .option("--http", "print the address at which the daemon serves the same, and end")
    .addHelpText("after", afterword)
    .action(async ({ http }: { http?: true }) => {
      if (http) return here.printText(`${(await findDaemon(here)).url}/mcp\n`);
      const { serveOnStdio } = await import("../../../mcp/serve-stdio.ts");
      await serveOnStdio(here);
    });
};
