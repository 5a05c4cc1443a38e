import { version } from "../../version.ts";
import { exit } from "../exit-codes.ts";
import type { AddCommand } from "./add-command.ts";

const afterword = `
It ends with 0 when Rouse runs and can save what it hears, with 3 when none is
running, and with 1 when one is there but does not answer or cannot save.`;

export const addStatus: AddCommand = (program, here, finish) => {
  program
    .command("status")
    .description("is Rouse running, where, since when, and is it well?")
    .option("--json", "print one JSON document")
    .addHelpText("after", afterword)
    .action(async ({ json }: { json?: true }) => {
      const { gatherStatus } = await import("../gather-status.ts");
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
        const { showStatus } = await import("../show/status.ts");
        here.print(showStatus(report, here.now(), here.width));
      }
      finish(life === "ready" ? exit.fine : life === "not-running" ? exit.noDaemon : exit.wrong);
    });
};
