import { type AgentHealth, activityKinds, Fault, healthStates, isUnhealthy } from "@rouse/contract";
import { needsPerson, stateWord } from "../../show/standing.ts";
import { didYouMean } from "../../text/phrases.ts";

export interface PsFilters {
  readonly state?: string;
  readonly activity?: string;
  readonly node?: string;
  readonly type?: string;
  readonly task?: string;
  readonly unhealthy?: true;
  readonly needsMe?: true;
}

interface Chosen {
  /** Throws when no agent at all has a node, type or task of the name that was asked for. */
  choose(agents: readonly AgentHealth[]): readonly AgentHealth[];
  /** Agents that are over were asked for by their state. */
  readonly namesEnds: boolean;
}

const ends = ["FINISHED", "EXITED", "TERMINATED"];
const stateWords = [...new Set([...healthStates, ...ends])];

type Test = (agent: AgentHealth) => boolean;

/** What `ps` was asked to show, or what is wrong with that. */
export function readFilters(filters: PsFilters): Chosen | Fault {
  const states = readList("--state", filters.state, stateWords);
  const activities = readList("--activity", filters.activity, activityKinds);
  const wrong = [states, activities].find((list) => list instanceof Fault);
  if (wrong instanceof Fault) return wrong;
  const tests: Test[] = [
    ...(Array.isArray(states) ? [(agent: AgentHealth) => states.includes(stateWord(agent))] : []),
    ...(Array.isArray(activities) ? [({ activity }: AgentHealth) => activities.includes(activity.kind)] : []),
    ...(filters.unhealthy ? [isUnhealthy] : []),
    ...(filters.needsMe ? [needsPerson] : []),
  ];
  return {
    namesEnds: [states, activities].some((list) => Array.isArray(list) && list.some((word) => ends.includes(word))),
    choose(agents) {
      const named = byName.reduce((left, of) => narrow(left, agents, of, filters), agents);
      return named.filter((agent) => tests.every((test) => test(agent)));
    },
  };
}

function readList(option: string, given: string | undefined, known: readonly string[]): string[] | Fault | null {
  if (given === undefined) return null;
  const words = given.split(",").map((word) => word.trim().toUpperCase());
  const unknown = words.find((word) => !known.includes(word));
  if (unknown === undefined) return words;
  const meant = didYouMean(unknown, known);
  return new Fault("bad-request", `${option}: "${unknown}" is none of ${known.join(", ")}${meant}`);
}

interface Named {
  readonly filter: "node" | "type" | "task";
  readonly what: string;
  of(agent: AgentHealth): string | null;
}

const byName: readonly Named[] = [
  { filter: "node", what: "is on node", of: ({ node }) => node },
  { filter: "type", what: "is of type", of: ({ agentType }) => agentType },
  { filter: "task", what: "works on task", of: ({ taskId }) => taskId },
];

/** A name that nobody has is more likely a slip than an empty answer. */
function narrow(
  left: readonly AgentHealth[],
  all: readonly AgentHealth[],
  { filter, what, of }: Named,
  filters: PsFilters,
) {
  const wanted = filters[filter];
  if (wanted === undefined) return left;
  const known = new Set(all.flatMap((one) => of(one) ?? []));
  if (known.has(wanted)) return left.filter((agent) => of(agent) === wanted);
  throw new Fault("agent-unknown", `no agent ${what} ${wanted}${didYouMean(wanted, [...known])}`);
}
