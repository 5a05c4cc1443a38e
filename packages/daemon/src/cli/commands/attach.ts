import { Fault } from "@rouse/contract";
import { exit } from "../exit-codes.ts";
import type { AddCommand } from "./add-command.ts";
import { refuseInsideAgent } from "./order-agent.ts";

const afterword = `
Ctrl-] d leaves; the agent goes on. Ctrl-] Ctrl-] sends one Ctrl-] to it. Every
other key goes to the agent, Ctrl-C too. While somebody is attached, Rouse does
nothing to the agent but tell.`;

export const addAttach: AddCommand = (program, here, finish) => {
  program
    .command("attach")
    .description("see an agent's terminal and type into it; leave with Ctrl-] d")
    .argument("<agent>", "id of an agent")
    .addHelpText("after", afterword)
    .action(async (agentId: string) => {
      // Somebody attached keeps Rouse's hands off the agent, and types what a person would.
      refuseInsideAgent(here, "only people attach");
      if (!process.stdin.isTTY || !process.stdout.isTTY)
        throw new Fault("bad-request", "attach needs a terminal; `rouse logs -f` shows the output without one");
      const [{ attachHere }, { doorOf }, { findHolder }] = await Promise.all([
        import("../../holder/attach-here.ts"),
        import("../../holder/read-holder-files.ts"),
        import("../find-holder.ts"),
      ]);
      const file = findHolder(here.home, agentId);
      if (file === null)
        throw new Fault("holder-gone", `${agentId} is over; \`rouse logs ${agentId}\` shows what it wrote`);
      const ending = await attachHere(doorOf(here.home, file));
      switch (ending.kind) {
        case "left":
          here.warn(`left ${agentId}; it goes on. \`rouse attach ${agentId}\` comes back`);
          return finish(exit.fine);
        case "ended":
          here.warn(
            `${agentId} ended ${ending.exit.signal === null ? `with status ${ending.exit.code}` : `by ${ending.exit.signal}`}`,
          );
          return finish(exit.fine);
        case "refused":
          throw new Fault("order-refused", `cannot attach to ${agentId}: ${ending.problem}`);
        case "lost":
          here.warn(`the holder of ${agentId} is gone; \`rouse why ${agentId}\` may say more`);
          return finish(exit.wrong);
      }
    });
};
