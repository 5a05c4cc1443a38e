import { EscalationDecision } from "@rouse/contract";
import { Argument, type Command, InvalidArgumentError } from "commander";
import { connect } from "../../find-daemon.ts";
import { effectOf, showAsked, showDecided, showEscalation, showEscalations } from "../../show/escalations.ts";
import { styled } from "../../text/styled-text.ts";
import type { AddCommand } from "../add-command.ts";
import { nameOfUser } from "./order-agent.ts";

interface Json {
  readonly json?: true;
}

const help = `
Rouse asks when the ladder needs a word: nudges were not answered, a limit is
reached, or something must not be done without one. Whoever answers first
counts. Without an answer the ladder goes on as OTHERWISE says.

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
    .option("--json", "print one JSON document")
    .addHelpText("after", help)
    .action(async ({ agent, json }: Json & { agent?: string }) => {
      const open = await (await connect(here)).escalations(agent === undefined ? {} : { agentId: agent });
      if (json) here.printJson({ escalations: open });
      else here.print(showEscalations(open, here.now(), here.width));
    });
  addShow(escalations, here, finish);
  addDecide(escalations, here, finish);
  addAcknowledge(escalations, here, finish);
};

const addShow: AddCommand = (escalations, here) => {
  escalations
    .command("show")
    .description("one of them with all that is known, and what may help")
    .argument("<id>", "such as worker-1.3")
    .option("--json", "print one JSON document")
    .action(async (id: string, { json }: Json) => {
      const notice = await (await connect(here)).escalation(id);
      if (json) here.printJson(notice);
      else here.print(showEscalation(notice, here.now(), here.width));
    });
};

const decideHelp = `
  allow_more_time        it goes on; asked again when the time is used up
  force_handoff          it is told to leave its work in order, then stopped
  terminate_and_recover  its work is saved, it is stopped and brought back

It says when that leads to less, such as for an agent that Rouse cannot stop.
Ends with 1 when somebody else was first or it is over, and says how; with 5
when there is no such escalation.`;

interface DecideOptions extends Json {
  readonly reason?: string;
  readonly minutes?: number;
}

const addDecide: AddCommand = (escalations, here) => {
  escalations
    .command("decide")
    .description("answer it")
    .argument("<id>", "such as worker-1.3")
    .addArgument(new Argument("<decision>", "what is to happen").choices(EscalationDecision.options))
    .option("--reason <text>", "for the record")
    .option("--minutes <n>", "how much more time (default: the policy's)", readMinutes)
    .option("--json", "print one JSON document")
    .addHelpText("after", decideHelp)
    .action(async (id: string, decision: EscalationDecision, options: DecideOptions, command: Command) => {
      const { reason, minutes, json } = options;
      if (minutes !== undefined && decision !== "allow_more_time")
        command.error("error: --minutes goes with allow_more_time only");
      const rouse = await connect(here);
      // Before it is decided: afterwards nobody knows the question any more. Why it cannot be read, deciding says as well.
      const notice = await rouse.escalation(id).catch(() => null);
      const result = await rouse.decide(id, {
        decision,
        actor: nameOfUser(),
        ...(reason === undefined ? {} : { reason }),
        ...(minutes === undefined ? {} : { minutes }),
      });
      const effect = notice === null ? undefined : effectOf(notice, decision);
      if (json) here.printJson({ ...result, ...(effect && { effect }) });
      else here.print(showDecided(result.escalation, decision, effect, here.width));
    });
};

const addAcknowledge: AddCommand = (escalations, here) => {
  escalations
    .command("ack")
    .description("say that a person has seen it; it still waits for a decision")
    .argument("<id>", "such as worker-1.3")
    .option("--json", "print one JSON document")
    .action(async (id: string, { json }: Json) => {
      const result = await (await connect(here)).acknowledge(id, { actor: nameOfUser() });
      if (json) here.printJson(result);
      else here.print([[styled("bold", result.escalation), " is acknowledged; it still waits for a decision."]]);
    });
};

function readMinutes(text: string): number {
  const number = /^\d{1,4}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
  if (number > 0 && number <= 1440) return number;
  throw new InvalidArgumentError("Expected minutes, more than 0 and at most 1440.");
}

const helpToAsk = `
The orchestrator is asked what to do, by webhook where one is set, and the
question stands in \`rouse escalations\` until somebody answers it. One that is
open already is not asked twice.

Example:
  rouse escalate worker-1 --reason "it rewrites the same file"`;

export const addEscalate: AddCommand = (program, here) => {
  program
    .command("escalate")
    .description("ask the orchestrator about an agent")
    .argument("<agent>", "id of an agent")
    .requiredOption("--reason <text>", "why somebody should look, for the record (required)")
    .option("--json", "print one JSON document")
    .addHelpText("after", helpToAsk)
    .action(async (agentId: string, { reason, json }: { reason: string; json?: true }) => {
      const result = await (await connect(here)).escalateToOrchestrator(agentId, reason, nameOfUser());
      if (json) here.printJson(result);
      else here.print(showAsked(result, here.now(), here.width));
    });
};
