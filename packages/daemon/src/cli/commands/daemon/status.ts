import { version } from "../../../version.ts";
import { type ExitCode, exit } from "../../exit-codes.ts";
import type { Life } from "../../gather-status.ts";
import type { AddCommand } from "../add-command.ts";

const afterword = `
It ends with 0 when Rouse runs and can save what it hears, with 3 when none is
running, with 1 when one is there but does not answer or cannot save, and with 4
when the token here is not for asking.`;

const exits: Readonly<Record<Life, ExitCode>> = {
  ready: exit.fine,
  "not-ready": exit.wrong,
  "no-answer": exit.wrong,
  "not-running": exit.noDaemon,
  unreachable: exit.noDaemon,
  refused: exit.notAuthorised,
};

export const addStatus: AddCommand = (program, here, finish) => {
  program
    .command("status")
    .description("is Rouse running, where, since when, and is it well?")
    .option("--json", "print one JSON document")
    .addHelpText("after", afterword)
    .action(async ({ json }: { json?: true }) => {
      const { gatherStatus } = await import("../../gather-status.ts");
      const report = await gatherStatus(here);
      const { life, daemon, ...rest } = report;
      if (json) {
        here.printJson({
          life,
          running: life !== "not-running",
          ready: life === "ready",
          cliVersion: version,
          ...rest,
          daemon,
        });
      } else {
        const { showStatus } = await import("../../show/status.ts");
        here.print(showStatus(report, here.now(), here.width));
      }
      finish(exits[life]);
    });
};
