import { type DurationMs, exitWord, Fault } from "@rouse/contract";
import { refuseInsideAgent } from "../../caller.ts";
import { exit } from "../../exit-codes.ts";
import type { Surroundings } from "../../surroundings.ts";
import { styled, wrapLine } from "../../text/styled-text.ts";
import type { AddCommand } from "../add-command.ts";

const afterword = `
Ctrl-] d leaves; the agent goes on. Ctrl-] Ctrl-] sends one Ctrl-] to it. Every
other key goes to the agent, Ctrl-C too. While somebody is attached, Rouse does
nothing to the agent; it only raises alerts.`;

/** How long the sentence about leaving stays, until the agent's screen pushes it off. */
const readFor: DurationMs = 600;

export const addAttach: AddCommand = (program, here, finish) => {
  program
    .command("attach")
    .description("see an agent's terminal and type into it; leave with Ctrl-] d")
    .argument("<agent>", "id of an agent")
    .addHelpText("after", afterword)
    .action(async (agentId: string) => {
      // Rouse does nothing to an agent while somebody is attached, and takes what is typed for a person's words.
      refuseInsideAgent(here, "only people attach");
      if (!process.stdin.isTTY || !process.stdout.isTTY)
        throw new Fault("bad-request", "attach needs a terminal; `rouse logs -f` shows the output without one");
      const [{ attachHere }, { doorOf }, { findHolder }] = await Promise.all([
        import("../../terminal/attach-here.ts"),
        import("../../../holders/read-holder-files.ts"),
        import("../../find-held.ts"),
      ]);
      const file = findHolder(here.home, agentId);
      if (file === null)
        throw new Fault("holder-gone", `${agentId} is over; \`rouse logs ${agentId}\` shows what it wrote`);
      // This is printed before the agent's screen takes the whole terminal. Later only the title tells how to leave.
      const wayOut = styled("dim", `${agentId}: Ctrl-] d leaves it, and it goes on; every other key is its own.`);
      here.print(wrapLine([wayOut], here.width, 2));
      const title = nameWindow(here, `${agentId}: Ctrl-] d leaves`);
      const ending = await attachHere(doorOf(here.home, file), { readFor }).finally(title.restore);
      switch (ending.kind) {
        case "left":
          here.warn(`left ${agentId}; it goes on. \`rouse attach ${agentId}\` comes back`);
          return finish(exit.fine);
        case "ended":
          here.warn(`${agentId} ${exitWord(ending.exit)}; \`rouse why ${agentId}\` says what becomes of it`);
          return finish(exit.fine);
        case "refused":
          throw new Fault("order-refused", `cannot attach to ${agentId}: ${ending.problem}`);
        case "lost":
          here.warn(`the holder of ${agentId} is gone; \`rouse why ${agentId}\` may say more`);
          return finish(exit.wrong);
      }
    });
};

/** Sets the window's title while it shows an agent; terminals without one ignore it. */
function nameWindow({ environment }: Surroundings, title: string): { restore(): void } {
  if (environment["TERM"] === "dumb" || environment["TERM"] === "linux") return { restore() {} };
  process.stdout.write(`\x1b[22;0t\x1b]0;${title}\x07`);
  return { restore: () => void process.stdout.write("\x1b[23;0t") };
}
