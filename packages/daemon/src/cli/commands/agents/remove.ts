import { type AgentHealth, type DurationMs, type EpochMs, Fault, type RemovedAgent } from "@rouse/contract";
import type { RouseClient } from "@rouse/sdk";
import { byUser } from "../../caller.ts";
import { exit, exitCodeOf } from "../../exit-codes.ts";
import { connect } from "../../find-daemon.ts";
import { isDoneWith, styledStanding } from "../../show/standing.ts";
import type { Surroundings } from "../../surroundings.ts";
import { drawList, type ListColumn } from "../../text/draw-table.ts";
import { count } from "../../text/phrases.ts";
import { type Line, styled } from "../../text/styled-text.ts";
import { ago } from "../../text/tell-time.ts";
import { type AddCommand, type Json, jsonOption, readDuration, reasonOption } from "../add-command.ts";

interface RemoveOptions extends Json {
  readonly reason?: string;
}

interface PruneOptions extends RemoveOptions {
  readonly olderThan?: DurationMs;
  readonly dryRun?: true;
}

const help = `
Its record, its beats and what it wrote are gone; what happened to it stays in
\`rouse events\` and \`rouse audit\` until that is old. One that beats or is
started again later is simply new.`;

export const addRm: AddCommand = (program, here, finish) => {
  program
    .command("rm")
    .description("take agents that are over out of the list")
    .argument("<agents...>", "ids of agents")
    .option(...reasonOption)
    .option(...jsonOption)
    .addHelpText("after", `${help}\nEnds with 1 when one of them still lives or is to be started again.`)
    .action(async (agents: string[], options: RemoveOptions) => {
      finish(await removeAll(here, await connect(here), [...new Set(agents)], options));
    });
};

export const addPrune: AddCommand = (program, here, finish) => {
  program
    .command("prune")
    .description("take everything that is over out of the list")
    .option("--older-than <duration>", "only what has been over for so long, such as 7d", readAge)
    .option("--dry-run", "only say what would be removed")
    .option(...reasonOption)
    .option(...jsonOption)
    .addHelpText("after", `${help}\n\nWhat a person is still called for is left: \`rouse rm\` takes it out by name.`)
    .action(async (options: PruneOptions) => {
      const rouse = await connect(here);
      const { agents } = await rouse.fleet();
      const old = agents.filter((agent) => isDoneWith(agent) && isOlder(agent, options.olderThan ?? 0, here.now()));
      if (options.dryRun) return showPlan(here, old, options);
      if (old.length === 0 && !options.json) return here.print([["Nothing to remove."]]);
      const names = old.map(({ agentId }) => agentId);
      finish(await removeAll(here, rouse, names, options));
    });
};

const readAge = readDuration("a duration such as 12h or 7d", () => true);

const isOlder = ({ over }: AgentHealth, age: DurationMs, now: EpochMs): boolean =>
  over !== null && now - Date.parse(over.at) >= age;

function showPlan(here: Surroundings, old: readonly AgentHealth[], { json }: PruneOptions): void {
  if (json) return here.printJson({ wouldRemove: old.map(({ agentId, over }) => ({ agentId, over })) });
  if (old.length === 0) return here.print([["Nothing would be removed."]]);
  const columns: ListColumn<AgentHealth>[] = [
    ["AGENT", ({ agentId }) => agentId, { least: 12 }],
    ["STATE", styledStanding],
    ["SINCE", ({ over }) => ago(over?.at ?? "", here.now())],
  ];
  here.print([[`${count(old.length, "agent")} would be removed:`], ...drawList(old, columns, here.width)]);
}

interface Refusal {
  readonly agentId: string;
  readonly code: Fault["code"];
  readonly message: string;
}

/** How many are removed at once: each waits for its holder and for the disk. */
const atOnce = 8;

/** Removes all it can. The exit code is that of the first agent that could not be removed. */
async function removeAll(
  here: Surroundings,
  rouse: RouseClient,
  agents: readonly string[],
  { json, ...options }: RemoveOptions,
): Promise<number> {
  const removed: RemovedAgent[] = [];
  const refused: Refusal[] = [];
  const order = byUser(options);
  const waiting = [...agents];

  async function work(): Promise<void> {
    for (let agentId = waiting.shift(); agentId !== undefined; agentId = waiting.shift()) {
      try {
        removed.push(await rouse.removeAgent(agentId, order));
      } catch (error) {
        // Any other fault would meet the remaining agents as well.
        if (!(error instanceof Fault) || (error.code !== "agent-unknown" && error.code !== "order-refused"))
          throw error;
        refused.push({ agentId, code: error.code, message: error.message });
      }
    }
  }

  await Promise.all(Array.from({ length: atOnce }, work));
  const byPlace = (a: { agentId: string }, b: { agentId: string }): number =>
    agents.indexOf(a.agentId) - agents.indexOf(b.agentId);
  removed.sort(byPlace);
  refused.sort(byPlace);
  if (json) here.printJson({ removed, refused });
  else if (removed.length > 0) here.print([tellRemoved(removed)]);
  if (!json) for (const { message } of refused) here.warn(message);
  const [first] = refused;
  return first === undefined ? exit.fine : exitCodeOf(first);
}

function tellRemoved(removed: readonly RemovedAgent[]): Line {
  const names = removed.map(({ agentId }) => styled("bold", agentId));
  if (names.length > 10) return [`${names.length} agents are removed.`];
  const listed = names.flatMap((name, index) =>
    index === 0 ? [name] : [index === names.length - 1 ? " and " : ", ", name],
  );
  return [...listed, names.length === 1 ? " is removed." : " are removed."];
}
