import type { SelfDoubtReport } from "@rouse/contract";
import type { RouseClient } from "@rouse/sdk";
import { type Command, Option } from "commander";
import { exit, exitCodeOfStanding } from "../../exit-codes.ts";
import { connect } from "../../find-daemon.ts";
import { tellOldNews } from "../../show/doubt.ts";
import { healthDocument, showHealth, showSummary } from "../../show/health.ts";
import { agentDocument, failedBefore } from "../../show/standing.ts";
import { showWhy } from "../../show/why.ts";
import type { Surroundings } from "../../surroundings.ts";
import { type AddCommand, given, type Json, jsonOption, tell } from "../add-command.ts";

interface HealthOptions extends Json {
  readonly filter?: "unhealthy";
}

export const addHealth: AddCommand = (program, here, finish) => {
  program
    .command("health")
    .description("how the agents are; with AGENT, how that one is")
    .argument("[agent]", "id of an agent")
    .addOption(new Option("--filter <which>", "list only these agents").choices(["unhealthy"]))
    .option(...jsonOption)
    .addHelpText(
      "after",
      "\nWith AGENT it ends with 0 when that is HEALTHY or DEGRADED, or over and\nFINISHED or exited 0; otherwise with 1, also when its process failed and left\nothers running.",
    )
    .action(async (agentId: string | undefined, options: HealthOptions, command: Command) => {
      if (agentId === undefined) return showAll(here, options);
      if (options.filter !== undefined) command.error("error: give an agent or --filter, not both");
      const rouse = await connect(here);
      const [agent, monitor] = await Promise.all([rouse.getAgentHealth(agentId), monitorOf(rouse)]);
      const since = monitor?.storeDownSince;
      tell(here, options, { ...healthDocument(agent), ...given({ storeDownSince: since }) }, () => [
        ...tellOldNews(since, here),
        ...showHealth(agent, here.now(), here.width),
      ]);
      finish(failedBefore(agent) === null ? exitCodeOfStanding(agent) : exit.wrong);
    });
};

/** What the monitor doubts about itself; `null` for an agent's own token, which may not ask for it. */
const monitorOf = (rouse: RouseClient): Promise<SelfDoubtReport | null> =>
  rouse.status().then(
    ({ monitor }) => monitor,
    () => null,
  );

async function showAll(here: Surroundings, { filter, ...options }: HealthOptions): Promise<void> {
  const rouse = await connect(here);
  const [status, agents] = await Promise.all([rouse.status(), rouse.getAllAgentHealth(given({ filter }))]);
  tell(here, options, { status, agents: agents.map(agentDocument) }, () =>
    showSummary(status, agents, here.now(), here.width),
  );
}

export const addWhy: AddCommand = (program, here) => {
  program
    .command("why")
    .description("everything behind the verdict on one agent")
    .argument("<agent>", "id of an agent")
    .option(...jsonOption)
    .action(async (agentId: string, options: Json) => {
      const report = await (await connect(here)).why(agentId);
      tell(here, options, { ...report, agent: agentDocument(report.agent) }, () =>
        showWhy(report, here.now(), here.width),
      );
    });
};
