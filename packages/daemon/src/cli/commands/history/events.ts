import { type EventType, eventTypes, Fault, fleetId, unsavedEvents } from "@rouse/contract";
import type { EventFilter, RouseClient, StreamedEvent } from "@rouse/sdk";
import { InvalidArgumentError, Option } from "commander";
import { interrupted } from "../../exit-codes.ts";
import { connect } from "../../find-daemon.ts";
import { showEvent } from "../../show/describe-event.ts";
import type { Surroundings } from "../../surroundings.ts";
import { wrapLine } from "../../text/styled-text.ts";
import { type AddCommand, given, readWhole } from "../add-command.ts";

interface EventsOptions {
  readonly follow?: true;
  readonly agent?: string;
  readonly types?: EventType[];
  readonly after?: number;
  readonly tail?: number;
  readonly limit?: number;
  readonly json?: true;
}

/** How many past events are shown first, as `tail -f` does. */
const shownBeforeFollowing = 10;

export const addEvents: AddCommand = (program, here) => {
  program
    .command("events")
    .description("what happened, the newest last")
    .option("-f, --follow", "go on with what happens from now on")
    .option("--agent <id>", "only events of this agent")
    .option("--types <list>", "only these types, separated by commas", readTypes)
    .option("--after <id>", "only events after this one", readWhole(0, Number.MAX_SAFE_INTEGER))
    .option("-n, --tail <n>", "at most so many (default: 100, with --follow 10)", readWhole(0, 1000))
    .addOption(new Option("--limit <n>", "the same").argParser(readWhole(1, 1000)).conflicts("tail").hideHelp())
    .option("--json", "print one JSON document; with --follow one line per event")
    .addHelpText(
      "after",
      `\nTypes:\n${listTypes()}\n\n${unsavedEvents.join(" and ")} come only with --follow and when\nthey are named.`,
    )
    .action(async (options: EventsOptions) => {
      const rouse = await connect(here);
      if (options.follow) return follow(here, rouse, options);
      const events = await readPast(rouse, filterOf(options), countOf(options));
      if (events.length === 0 && options.agent !== undefined) await refuseUnknown(rouse, options.agent);
      if (options.json) here.printJson({ events });
      else if (events.length === 0 && countOf(options) !== 0) here.print([["No events."]]);
      else for (const event of events) show(here, event);
    });
};

/** Refuses the name of an agent that was never known. A removed agent is still known by its events. */
async function refuseUnknown(rouse: RouseClient, agentId: string): Promise<void> {
  if (agentId === fleetId || (await rouse.events({ agentId, limit: 1 })).length > 0) return;
  await rouse.getAgentHealth(agentId).catch((error: unknown) => {
    // A token that may not ask for the agent is still told that there are no events.
    if (error instanceof Fault && error.code === "agent-unknown") throw error;
  });
}

async function follow(here: Surroundings, rouse: RouseClient, options: EventsOptions): Promise<void> {
  process.on("SIGINT", () => process.exit(interrupted));
  const print = (event: StreamedEvent) => (options.json ? here.printJsonLine(event) : show(here, event));
  const filter = filterOf(options);
  const past =
    filter.after === undefined ? await readPast(rouse, filter, countOf(options) ?? shownBeforeFollowing) : [];
  for (const event of past) print(event);
  const after = filter.after ?? past.at(-1)?.id;
  let interruption = false;
  const stream = rouse.streamEvents({
    ...filter,
    ...given({ after }),
    onInterrupted() {
      // This is said once, not at every attempt.
      if (!interruption) here.warn("the connection to Rouse was lost; trying again");
      interruption = true;
    },
  });
  for await (const event of stream) {
    interruption = false;
    print(event);
  }
}

const countOf = ({ tail, limit }: EventsOptions): number | undefined => tail ?? limit;

async function readPast(rouse: RouseClient, filter: EventFilter, count: number | undefined) {
  if (count === 0) return [];
  return rouse.events({ ...filter, ...given({ limit: count }) });
}

function show(here: Surroundings, event: StreamedEvent): void {
  here.print(wrapLine(showEvent(event), here.width, 4));
}

const filterOf = ({ agent, types, after }: EventsOptions): EventFilter => given({ agentId: agent, types, after });

function readTypes(text: string): EventType[] {
  const types = text.split(",").map((type) => type.trim().toUpperCase());
  const unknown = types.find((type) => !eventTypes.includes(type as EventType));
  if (unknown !== undefined) throw new InvalidArgumentError(`There is no event ${unknown}; see rouse events --help.`);
  return types as EventType[];
}

function listTypes(): string {
  const width = Math.max(...eventTypes.map((type) => type.length)) + 2;
  const cells = eventTypes.map((type, index) => (index % 2 === 0 ? `\n  ${type.padEnd(width)}` : type));
  return cells.join("").replace(/ +$/gm, "").slice(1);
}
