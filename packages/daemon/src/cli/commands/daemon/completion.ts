import type { DurationMs } from "@rouse/contract";
import { connectRouse } from "@rouse/sdk";
import { Argument, type Command } from "commander";
import { findDaemon } from "../../find-daemon.ts";
import type { Surroundings } from "../../surroundings.ts";
import type { AddCommand } from "../add-command.ts";

/** How long the names may take: somebody who pressed Tab waits for them. */
const patience: DurationMs = 1000;

const help = `
bash:  rouse completion bash > ~/.local/share/bash-completion/completions/rouse
zsh:   rouse completion zsh > ~/.zfunc/_rouse     # with fpath+=~/.zfunc before compinit
fish:  rouse completion fish > ~/.config/fish/completions/rouse.fish

Write it again after an update. It completes commands, options and the names of
agents, which it asks the running Rouse for (rouse completion agents).`;

/** `whole`: the program with all its commands, to read off what there is to complete. */
export const addCompletion =
  (whole: (here: Surroundings) => Promise<Command>): AddCommand =>
  (program, here) => {
    program
      .command("completion")
      .description("print what makes a shell complete commands, options and agents")
      .addArgument(new Argument("<shell>", "which shell").choices(["bash", "zsh", "fish", "agents"]))
      .addHelpText("after", help)
      .action(async (shell: "bash" | "zsh" | "fish" | "agents") => {
        if (shell === "agents") return printNames(here);
        const { readWords, writeScript } = await import("../../write-completion.ts");
        here.printText(writeScript[shell](readWords(await whole(here))));
      });
  };

/** Prints nothing where no Rouse answers: completion has no way to show an error. */
async function printNames(here: Surroundings): Promise<void> {
  try {
    const { agents } = await connectRouse({ ...(await findDaemon(here)), timeout: patience }).fleet();
    here.printText(
      agents
        .map(({ agentId }) => `${agentId}\n`)
        .sort()
        .join(""),
    );
  } catch {}
}
