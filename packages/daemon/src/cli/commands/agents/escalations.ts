import { EscalationDecision } from "@rouse/contract";
import { Argument, type Command, InvalidArgumentError } from "commander";
import { byUser, nameOfUser } from "../../caller.ts";
import { connect } from "../../find-daemon.ts";
import { effectOf, showAsked, showDecided, showEscalation, showEscalations } from "../../show/escalations.ts";
import { styled } from "../../text/styled-text.ts";
import { type AddCommand, given, type Json, jsonOption, reasonOption, tell } from "../add-command.ts";

const help = `
Rouse asks when it needs a decision: nudges were not answered, a limit is
reached, or something must not be done without one. The first answer counts.
Without an answer Rouse goes on as OTHERWISE says.

Examples:
  rouse escalations
  rouse escalations show worker-1.3
  rouse escalations decide worker-1.3 allow_more_time --minutes 30
  rouse escalations decide worker-1.3 terminate_and_recover --reason "loops"`;

export const addEscalations: AddCommand = (program, here, finish) => {
  const escalations = program
    .command("escalations")
    .description("what waits for an answer; show, decide or acknowledge it")
    .option("--agent <id>", "only questions about this agent")
    .option(...jsonOption)
    .addHelpText("after", help)
    .action(async ({ agent, ...options }: Json & { agent?: string }) => {
      const open = await (await connect(here)).escalations(given({ agentId: agent }));
      tell(here, options, { escalations: open }, () => showEscalations(open, here.now(), here.width));
    });
  for (const add of [addShow, addDecide, addAcknowledge]) add(escalations, here, finish);
};

const addShow: AddCommand = (escalations, here) => {
  escalations
    .command("show")
    .description("show one escalation with all that is known, and what may help")
    .argument("<id>", "such as worker-1.3")
    .option(...jsonOption)
    .action(async (id: string, options: Json) => {
      const notice = await (await connect(here)).escalation(id);
      tell(here, options, notice, () => showEscalation(notice, here.now(), here.width));
    });
};

const decideHelp = `
  allow_more_time        it goes on; asked again when the time is used up
  force_handoff          it is told to leave its work in order, then stopped
  terminate_and_recover  its work is saved, it is stopped and brought back

The command says when a decision leads to less, such as for an agent that Rouse
cannot stop. It ends with 1 when somebody else was first or the escalation is
over, and says how; with 5 when there is no such escalation.`;

interface DecideOptions extends Json {
  readonly reason?: string;
  readonly minutes?: number;
}

const addDecide: AddCommand = (escalations, here) => {
  escalations
    .command("decide")
    .description("answer an escalation")
    .argument("<id>", "such as worker-1.3")
    .addArgument(new Argument("<decision>", "what is to happen").choices(EscalationDecision.options))
    .option(...reasonOption)
    .option("--minutes <n>", "how much more time (default: the policy's)", readMinutes)
    .option(...jsonOption)
    .addHelpText("after", decideHelp)
    .action(async (id: string, decision: EscalationDecision, options: DecideOptions, command: Command) => {
      const { minutes } = options;
      if (minutes !== undefined && decision !== "allow_more_time")
        command.error("error: --minutes goes with allow_more_time only");
      const rouse = await connect(here);
      // The question is read first: once decided, it is gone. Why it cannot be read, `decide` says as well.
      const notice = await rouse.escalation(id).catch(() => null);
      const result = await rouse.decide(id, { decision, ...byUser(options), ...given({ minutes }) });
      const effect = notice === null ? undefined : effectOf(notice, decision);
      tell(here, options, { ...result, ...given({ effect }) }, () =>
        showDecided(result.escalation, decision, effect, here.width),
      );
    });
};

const addAcknowledge: AddCommand = (escalations, here) => {
  escalations
    .command("ack")
    .description("say that a person has seen an escalation; it still waits for a decision")
    .argument("<id>", "such as worker-1.3")
    .option(...jsonOption)
    .action(async (id: string, options: Json) => {
      const result = await (await connect(here)).acknowledge(id, { actor: nameOfUser() });
      const name = styled("bold", result.escalation);
      tell(here, options, result, () => [[name, " is acknowledged; it still waits for a decision."]]);
    });
};

function readMinutes(text: string): number {
  const number = /^\d{1,4}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
  if (number > 0 && number <= 1440) return number;
  throw new InvalidArgumentError("Expected minutes, more than 0 and at most 1440.");
}

const helpToAsk = `
The orchestrator is asked what to do, by webhook where one is set, and the
question stands in \`rouse escalations\` until somebody answers it. A question
that is open already is not asked twice.

Example:
  rouse escalate worker-1 --reason "it rewrites the same file"`;

export const addEscalate: AddCommand = (program, here) => {
  program
    .command("escalate")
    .description("ask the orchestrator about an agent")
    .argument("<agent>", "id of an agent")
    .requiredOption("--reason <text>", "why somebody should look, for the record (required)")
    .option(...jsonOption)
    .addHelpText("after", helpToAsk)
    .action(async (agentId: string, options: Json & { reason: string }) => {
      const result = await (await connect(here)).escalateToOrchestrator(agentId, options.reason, nameOfUser());
      tell(here, options, result, () => showAsked(result, here.now(), here.width));
    });
};
