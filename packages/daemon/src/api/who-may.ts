import { Fault, printable } from "@rouse/contract";
import { findOverreach, type HoldsTask, type Overreach } from "../home/agent-token.ts";
import type { TokenRole } from "../home/issued-tokens.ts";
import type { RefusedSpeaker } from "../monitor.ts";
import { type AgentSpeaker, principalOf, type Speaker } from "./guard.ts";
import { type Route, routerPath } from "./route.ts";

/** How a speaker's reach is looked up, and how a request beyond it is recorded. */
export interface WhoMayParts {
  /** Whether its policy lets an agent see another, or, for `null`, any other. */
  maySee(agent: AgentSpeaker, other: string | null): boolean;
  noteRefusedSpeaker(refused: RefusedSpeaker): void;
  noteRefusedRole(principal: string, asked: string): void;
}

/** A request, with the route that the router found: only the router knows which spellings of a path are the same. */
interface Asked {
  readonly method: string;
  /** As it was sent, without the query. */
  readonly path: string;
  /** `null`: there is no such path. */
  readonly route: Route | null;
  /** Of the path. */
  readonly id: string;
}

const mayAsk = ({ who }: Route, role: TokenRole): boolean =>
  role === "agent" ? who.agent !== undefined : who.roles.includes(role);

/** The fault when this speaker may not make this request; it is recorded. */
export function refuseSpeaker(speaker: Speaker, asked: Asked, parts: WhoMayParts): Fault | null {
  if (speaker.kind === "anyone") return null;
  if (speaker.kind === "agent") {
    const trespass = findTrespass(speaker, asked, parts.maySee);
    return trespass === null ? null : refuseAgent(speaker, trespass, parts);
  }
  const { method, route } = asked;
  if (route === null || mayAsk(route, speaker.kind)) return null;
  const what = `${method} ${routerPath(route)}`;
  parts.noteRefusedRole(principalOf(speaker), what);
  return new Fault(
    "forbidden",
    `a token of role ${speaker.kind} is not for ${what}; \`rouse token --help\` says what each role may`,
  );
}

export function refuseAgent(
  agent: AgentSpeaker,
  overreach: Overreach,
  { noteRefusedSpeaker }: Pick<WhoMayParts, "noteRefusedSpeaker">,
): Fault {
  const { agentId, taskId, incarnation } = agent;
  noteRefusedSpeaker({ agentId, ...overreach });
  const life = incarnation === null ? [] : [`incarnation ${incarnation}`];
  const task = taskId === null ? [] : [`task ${taskId}`];
  const only = [...task, ...life].length === 0 ? "" : ` (${[...task, ...life].join(", ")})`;
  return new Fault(
    "forbidden",
    `this token speaks only for ${agentId}${only} and may not ${wordOverreach(overreach)}; docs/heartbeats.md, "Two kinds of token", lists what it may do`,
  );
}

/** `claimed` is cleaned: it comes from the request. */
function wordOverreach({ because, claimed }: Overreach): string {
  const what = printable(claimed, 100);
  switch (because) {
    case "not-allowed":
      return `call ${what}`;
    case "other-agent":
      return `name agent ${what}`;
    case "other-task":
      return `name task ${what}`;
    case "other-life":
      return `name incarnation ${what}`;
  }
}

/** What in the path of a request is beyond an agent's own token. The body is compared where it is read. */
function findTrespass(
  agent: AgentSpeaker,
  { method, path, route, id }: Asked,
  maySee: WhoMayParts["maySee"],
): Overreach | null {
  const notAllowed = { because: "not-allowed", claimed: `${method} ${path}` } as const;
  if (route === null || route.who.agent === undefined || method === "HEAD") return notAllowed;
  if (id === "" && route.path.includes("{")) return notAllowed;
  switch (route.who.agent) {
    case "any":
      return null;
    case "fleet":
      return maySee(agent, null) ? null : notAllowed;
    case "queue":
      return agent.taskId === null ? null : notAllowed;
    case "its-task":
      return agent.taskId === null || agent.taskId === id ? null : { because: "other-task", claimed: id };
    case "itself":
      return id === agent.agentId ? null : { because: "other-agent", claimed: id };
    case "seen":
      return id === agent.agentId || maySee(agent, id) ? null : { because: "other-agent", claimed: id };
  }
}

type Said = Record<string, unknown>;

/**
 * What an agent says, without the name of a task that is not its own. An agent that works through a queue may not have
 * heard yet that a task was taken from it, and hears it only in the answer; so only the name is dropped. A token that
 * names its task is strict.
 */
export function leaveForeignTask(agent: AgentSpeaker, said: Said, holds: HoldsTask): Said {
  const { taskId, ...rest } = said;
  const isForeign = agent.taskId === null && typeof taskId === "string" && !holds(agent.agentId, taskId);
  return isForeign ? rest : said;
}

/** Throws when an agent speaks for another agent, task or life. */
export function refuseOverreach(
  agent: AgentSpeaker,
  said: Said,
  parts: Pick<WhoMayParts, "noteRefusedSpeaker"> & { readonly holdsTask: HoldsTask },
): void {
  const overreach = findOverreach(agent, said, parts.holdsTask);
  if (overreach !== null) throw refuseAgent(agent, overreach, parts);
}
