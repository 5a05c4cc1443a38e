import { byUser } from "../../caller.ts";
import { connect } from "../../find-daemon.ts";
import { showBreakers } from "../../show/breakers.ts";
import { styled } from "../../text/styled-text.ts";
import { type AddCommand, type Json, jsonOption, reasonOption, tell } from "../add-command.ts";

export const addBreakers: AddCommand = (program, here) => {
  const breakers = program
    .command("breakers")
    .description("circuit breakers of agents: what fails too often to be called")
    .option("-a, --all", "also those of agents that are over")
    .option("--agent <agent>", "only of this agent, also when it is over")
    .option(...jsonOption)
    .action(async (options: Json & { agent?: string; all?: true }) => {
      const rouse = await connect(here);
      const all = await rouse.getAllCircuitBreakers();
      const wanted = all.filter(({ agentId }) => options.agent === undefined || agentId === options.agent);
      // A name that nobody has is no agent without breakers.
      if (wanted.length === 0 && options.agent !== undefined) await rouse.getAgentHealth(options.agent);
      const shown = wanted.filter((one) => options.all || options.agent !== undefined || !one.agentOver);
      const hidden = wanted.length - shown.length;
      tell(here, options, shown, () => showBreakers(shown, hidden, here.now(), here.width));
    });
  breakers
    .command("reset <name>")
    .description("close a breaker by hand; its agent is told with its next heartbeat")
    .option(...reasonOption)
    .option(...jsonOption)
    .action(async (name: string, options: Json & { reason?: string }) => {
      const rouse = await connect(here);
      await rouse.resetCircuitBreaker(name, byUser(options));
      const now = await rouse.getCircuitBreakerStatus(name);
      const told = now.resetPending ? "; its agent is told with its next heartbeat" : "";
      tell(here, options, now, () => [[styled("bold", `${name} is ${now.state}`), told]]);
    });
};
