import { byUser } from "../../caller.ts";
import { connect } from "../../find-daemon.ts";
import { styled } from "../../text/styled-text.ts";
import { type AddCommand, type Json, jsonOption, reasonOption, tell } from "../add-command.ts";

const addOrder =
  (order: "freeze" | "thaw", description: string, done: string): AddCommand =>
  (program, here) => {
    program
      .command(order)
      .description(description)
      .option(...reasonOption)
      .option(...jsonOption)
      .action(async (options: Json & { reason?: string }) => {
        const status = await (await connect(here))[order](byUser(options));
        tell(here, options, status, () => [[styled("bold", done)]]);
      });
  };

export const addFreeze = addOrder(
  "freeze",
  "stop every intervention until `rouse thaw`",
  "Frozen. Agents are watched, but nothing is done to any until `rouse thaw`.",
);

export const addThaw = addOrder("thaw", "allow interventions again", "Thawed. Rouse acts again as its policies say.");
