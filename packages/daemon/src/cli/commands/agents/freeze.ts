import type { SystemStatus } from "@rouse/contract";
import { connect } from "../../find-daemon.ts";
import type { Surroundings } from "../../surroundings.ts";
import { styled } from "../../text/styled-text.ts";
import type { AddCommand } from "../add-command.ts";
import { nameOfUser } from "./order-agent.ts";

interface OrderOptions {
  readonly reason?: string;
  readonly json?: true;
}

export const addFreeze: AddCommand = (program, here) => {
  program
    .command("freeze")
    .description("stop every intervention until `rouse thaw`")
    .option("--reason <text>", "for the record")
    .option("--json", "print one JSON document")
    .action(async (options: OrderOptions) => {
      const status = await (await connect(here)).freeze(orderOf(options));
      report(here, options, status, "Frozen. Agents are watched, but nothing is done to any until `rouse thaw`.");
    });
};

export const addThaw: AddCommand = (program, here) => {
  program
    .command("thaw")
    .description("allow interventions again")
    .option("--reason <text>", "for the record")
    .option("--json", "print one JSON document")
    .action(async (options: OrderOptions) => {
      const status = await (await connect(here)).thaw(orderOf(options));
      report(here, options, status, "Thawed. Rouse acts again as its policies say.");
    });
};

const orderOf = ({ reason }: OrderOptions) => ({ actor: nameOfUser(), ...(reason === undefined ? {} : { reason }) });

function report(here: Surroundings, { json }: OrderOptions, status: SystemStatus, sentence: string): void {
  if (json) here.printJson(status);
  else here.print([[styled("bold", sentence)]]);
}
