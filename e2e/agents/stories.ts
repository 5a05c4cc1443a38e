import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentHealth, Question, SavedEvent } from "@rouse/contract";
import { openTerminal } from "../open-terminal.ts";
import { program as rouse } from "../run-rouse.ts";
import { until } from "../until.ts";
import { showsQuestion } from "./asking-words.ts";
import { auth, putOff, quota, settled } from "./limit-stories.ts";
import { lastWords, leftSeconds, limitSeconds, pingSeconds, type Scenario, toolSeconds } from "./scenarios.ts";
import {
  atWork,
  ends,
  eventOf,
  isOnce,
  processesOfProgram,
  requestOf,
  type Story,
  sayingOf,
  seconds,
  type Told,
  timeOf,
} from "./story.ts";
import { agentName, type Watched } from "./watch-program.ts";

const normal: Story = { may: [], well: true, play: (watched) => ends(watched) };

const foundByCall = 6;
/** Some twenty calls: whoever has not found it by then goes by something else. */
const loopFoundWithin = 40_000;

/**
 * An agent in a loop is started again only where its program found the loop and ended: a running agent would have to
 * be stopped first, which is harm.
 */
const loop: Story = {
  may: ["nudge", "restart"],
  well: false,
  async play(watched) {
    await atWork(watched);
    const found = await until("Rouse finds the loop", () => loopFound(watched), loopFoundWithin);
    const calls = callsBefore(watched, found.at);
    const first = watched.model.requests[0]?.at ?? found.at;
    if (calls > foundByCall) throw new Error(`${found.said} only at call ${calls}`);
    return { said: `${found.said} at call ${calls}`, seconds: seconds(found.at - first) };
  },
};

/**
 * Rouse says that the agent is stuck. Where the program looks for loops itself and has stopped, Rouse says instead that
 * this is no success, or that the agent asks, which the model in this story never does.
 */
function loopFound(watched: Watched): { at: number; said: string } | null {
  const stuck = watched
    .events("HEALTH_STATE_CHANGED")
    .find(({ payload }) => (payload as { to: string }).to === "STUCK");
  if (stuck !== undefined) {
    return { at: timeOf(stuck), said: `STUCK (${(stuck.payload as { reason: string }).reason})` };
  }
  const asks = watched
    .events("AGENT_NEEDS_YOU")
    .find(({ payload }) => (payload as { what: Question }).what === "question");
  if (asks !== undefined) return { at: timeOf(asks), said: "needs you: question" };
  const ended = watched.sayings.find(({ health }) => failedTurnOf(health) !== undefined);
  return ended === undefined ? null : { at: ended.at, said: `its turn failed (${failedTurnOf(ended.health)})` };
}

/** Told by versions that judge a turn by its program's own word. */
const failedTurnOf = ({ terminal }: AgentHealth): string | undefined =>
  (terminal as { failedTurn?: string } | null)?.failedTurn;

const callsBefore = ({ model }: Watched, at: number): number =>
  Math.max(0, ...model.requests.filter((request) => request.at <= at).map(({ results }) => results));

/** Where a person sits before it, they are in the middle of a sentence, which no nudge may touch. */
const draft = "half a thou";

const nudge: Story = {
  may: ["nudge"],
  well: false,
  async play(watched) {
    await atWork(watched);
    if (watched.cell.cannot !== undefined) return unreachable(watched);
    watched.terminal?.type(draft);
    const sent = await eventOf(watched, "NUDGE_SENT", loopFoundWithin);
    const { channel } = sent.payload as { channel: string };
    if (channel !== (watched.cell.by ?? channel)) throw new Error(`nudged by ${channel}, not by ${watched.cell.by}`);
    const heard = await requestOf(watched, "has the nudge", 30_000, ({ nudged }) => nudged);
    const between = watched.model.requests.filter(({ at }) => at > timeOf(sent) && at < heard.at).length;
    if (between > 1) throw new Error(`the model had it only after ${between} more requests`);
    await eventOf(watched, "NUDGE_SEEN", 15_000);
    const acted = watched.events("NUDGE_ACTED")[0];
    if (acted !== undefined && timeOf(acted) < heard.at) throw new Error("acted was said before the model had it");
    const drafts = (await watched.terminal?.screen())?.filter((row) => row.includes(draft)).length ?? 1;
    if (drafts !== 1) throw new Error("what a person had half typed is not there any more");
    return { said: `nudged by ${channel}; the model had it`, seconds: seconds(heard.at - timeOf(sent)) };
  },
};

/**
 * An agent that was handed over goes on in circles while nobody comes: until a person speaks to it no tool is used,
 * and the model is hardly asked.
 */
const contain: Story = {
  may: ["nudge"],
  well: false,
  async play(watched) {
    const handed = await eventOf(watched, "INCIDENT_CLOSED", 60_000);
    const held = await eventOf(watched, "AGENT_CONTAINED", 30_000);
    const made = callsMade(watched);
    // In a terminal it stands at a question; elsewhere each call waits, and is denied in the end.
    if (isOnce(watched)) await isSlowedDown(watched, timeOf(held));
    else await eventOf(watched, "AGENT_NEEDS_YOU", 15_000, isPermission);
    const more = callsMade(watched) - made;
    // One may have been under way.
    if (more > 1) throw new Error(`${more} calls were made while it was held back`);
    if (watched.events("AGENT_LET_GO").length > 0) throw new Error("it was let go, and nobody had spoken to it");
    const { code, stderr } = await watched.daemon.cli("nudge", agentName, "try another file");
    if (code !== 0) throw new Error(`rouse nudge ended with ${code}: ${stderr}`);
    await eventOf(watched, "AGENT_LET_GO", 5000);
    const { how } = held.payload as { how: string };
    if (isOnce(watched)) await until("the call that waits is made", () => callsMade(watched) > made + more, 10_000);
    const needs = isOnce(watched) ? "" : ", needs you: permission";
    return { said: `held back (${how})${needs}, let go by a person`, seconds: seconds(timeOf(held) - timeOf(handed)) };
  },
};

const deniedAfter = 20_000;

/** The answer that was under way, and the one to it: whoever is asked oftener within that time burns on. */
async function isSlowedDown(watched: Watched, heldAt: number): Promise<void> {
  await requestOf(watched, "is asked with a call that was denied", 60_000, ({ at }) => at > heldAt + deniedAfter);
  const before = watched.model.requests.filter(({ at }) => at > heldAt && at < heldAt + deniedAfter).length;
  if (before > 2) throw new Error(`the model was asked ${before} times while it was held back`);
}

const isPermission = ({ payload }: SavedEvent): boolean => (payload as { what?: Question }).what === "permission";

const callsMade = ({ folder }: Watched): number =>
  readFileSync(join(folder, "calls.txt"), "utf8").split("\n").length - 1;

/** Nobody can tell it anything: then that is said, and nothing is called sent or seen. */
async function unreachable(watched: Watched): Promise<Told> {
  const told = await eventOf(watched, "ESCALATION_TRIGGERED", loopFoundWithin);
  const { reason } = told.payload as { reason: string };
  if (watched.events("NUDGE_SEEN", "NUDGE_ACTED").length > 0) throw new Error("a nudge that never arrived was seen");
  if (!["no-way-to-nudge", "nudges-undelivered"].includes(reason)) throw new Error(`escalated as ${reason}`);
  return { said: `escalated: ${reason}`, seconds: null };
}

const needKnownWithin = 2;
const needStands = 3000;

/** A question is known within two seconds of standing on the screen, by its right name. */
function need(what: Question): Story {
  return {
    may: [],
    well: true,
    async play(watched) {
      const isIt = (event: SavedEvent) => (event.payload as { what?: string }).what === what;
      const told = () => watched.events("AGENT_NEEDS_YOU").find(isIt);
      const asks = () => showsQuestion(watched.cell.scenario, watched.output()) || told() !== undefined;
      await until("the program asks", asks, 60_000);
      const shownAt = Date.now();
      const event = await until(`Rouse says "needs you: ${what}"`, told, 8000);
      const took = seconds(timeOf(event) - shownAt);
      if (took > needKnownWithin) throw new Error(`known only after ${took} s`);
      // Every eye has had its say by then: what one of them tells late is no answer.
      await until("it stands there for a while", () => Date.now() > timeOf(event) + needStands, 10_000);
      if (watched.events("AGENT_NEEDS_YOU_NO_MORE").some((later) => timeOf(later) >= timeOf(event)))
        throw new Error("it was taken back, though nobody has answered");
      return { said: `needs you: ${what}`, seconds: took };
    },
  };
}

const silenceKnownWithin = 45_000;

/** The model never answers. That it is quiet is said; stopped it is not, because that may be all there is to it. */
const hang: Story = {
  may: ["nudge"],
  well: false,
  async play(watched) {
    const asked = await requestOf(watched, "does not answer", 60_000, ({ said }) => said === "hang");
    const isQuiet = ({ state, findings }: AgentHealth) => state !== "HEALTHY" && findings.length > 0;
    const quiet = await sayingOf(watched, "that nothing comes", silenceKnownWithin, isQuiet);
    const { state, findings, activity } = quiet.health;
    const open = activity.open === undefined ? "" : `, ${activity.open.kind} request open`;
    return { said: `${state} (${findings[0]?.kind})${open}`, seconds: seconds(quiet.at - asked.at) };
  },
};

/** Slow is not ill: it is left alone and comes to its end. */
const slow: Story = { may: [], well: true, play: (watched) => ends(watched, 90_000 + pingSeconds * 1000) };

const tool: Story = {
  may: [],
  well: true,
  async play(watched) {
    await atWork(watched);
    const hasTool = ({ activity }: AgentHealth) => activity.open?.kind === "tool";
    const open = await sayingOf(watched, "that a tool is open", 30_000, hasTool);
    const asked = watched.model.requests[0]?.answeredAt ?? open.at;
    const { said } = await ends(watched, 60_000 + toolSeconds * 1000);
    return { said: `RUNNING, tool open; ${said}`, seconds: seconds(open.at - asked) };
  },
};

const awaits = ({ activity }: AgentHealth): boolean => activity.kind === "WAITING" && activity.for === "children";

/** It sits at its prompt and needs nobody: its program wakes it when what it left running is over. */
const background: Story = {
  may: [],
  well: true,
  async play(watched) {
    const { model } = watched;
    const rests = await requestOf(watched, "is told that it runs", 60_000, ({ results }) => results === 1);
    const told = await sayingOf(watched, "WAITING for children", 10_000, awaits);
    const woken = await until(
      "its program wakes it",
      () => model.requests.find(({ at, results }) => at > rests.at && results === 1),
      leftSeconds * 1000 + 60_000,
    );
    const other = watched.sayings.find(({ at, health }) => at > told.at && at < woken.at - settled && !awaits(health));
    if (other !== undefined) throw new Error(`it was ${other.health.activity.kind} while its work went on`);
    const early = watched.events("AGENT_NEEDS_YOU").filter((event) => timeOf(event) < woken.at);
    if (early.length > 0) throw new Error("a person was called while its work went on");
    const asks = await eventOf(watched, "AGENT_NEEDS_YOU", 15_000);
    const { what } = asks.payload as { what: Question };
    return { said: `WAITING for children, then needs you: ${what}`, seconds: seconds(told.at - rests.at) };
  },
};

const context: Story = {
  may: ["nudge", "restart"],
  well: false,
  async play(watched) {
    const refusedAt = await until("the model refuses", () => watched.model.refusedAt, 60_000);
    const told = await until("Rouse says that its context is full", () => contextFull(watched), 15_000);
    return { said: told.said, seconds: seconds(told.at - refusedAt) };
  },
};

/**
 * A state that is over a moment later shows in the events, not to whoever asks now and then. Then the end, with its
 * reason, may be all that is told.
 */
function contextFull(watched: Watched): { at: number; said: string } | null {
  for (const event of watched.events("HEALTH_STATE_CHANGED", "AGENT_NEEDS_YOU")) {
    const { to, findings = [], what } = event.payload as { to?: string; findings?: Finding[]; what?: Question };
    const found = findings.find(({ kind, text }) => kind === "context-exhausted" || /context limit$/.test(text));
    if (found !== undefined) return { at: timeOf(event), said: `${to} (${found.kind}): context limit` };
    if (what === "api-error") return { at: timeOf(event), said: `needs you: ${what}` };
  }
  return null;
}

type Finding = AgentHealth["findings"][number];

/** Killed by somebody else in the middle: started again, and the model sees the conversation it had. */
const killed: Story = {
  may: ["restart"],
  well: false,
  async play(watched) {
    await atWork(watched);
    // Programs write their conversation down a moment after they went on with it (Claude Code up to a tenth of a
    // second): the last result may be lost with the process, and nobody can bring it back. Those before it may not.
    await requestOf(watched, "has three results", 60_000, ({ results }) => results >= 3);
    const at = Date.now();
    // All of it: a server that it left behind would go on with the conversation, and look like its next life.
    for (const pid of processesOfProgram(watched)) process.kill(pid, "SIGKILL");
    const again = await eventOf(watched, "AGENT_RESTARTED", 30_000);
    const first = await requestOf(watched, "is asked again", 60_000, (request) => request.at > timeOf(again));
    if (first.results < 2) throw new Error("started again without its conversation");
    return { said: "restarted with its conversation", seconds: seconds(first.at - at) };
  },
};

/** Killed after a person has cleared its conversation: it goes on with what it had then, which is nothing. */
const cleared: Story = {
  may: ["restart"],
  well: false,
  async play(watched) {
    await ends(watched);
    const before = (await watched.daemon.rouse.getAgentHealth(agentName)).terminal?.session?.id;
    await typeInto(watched, "/clear");
    const at = Date.now();
    const entered = async () => {
      const { terminal } = await watched.daemon.rouse.getAgentHealth(agentName);
      return terminal?.session != null && terminal.session.id !== before;
    };
    await until("Rouse knows its new conversation", entered, 10_000);
    const known = Date.now();
    for (const pid of processesOfProgram(watched)) process.kill(pid, "SIGKILL");
    const again = await eventOf(watched, "AGENT_RESTARTED", 30_000);
    const first = await requestOf(watched, "is asked again", 60_000, (request) => request.at > timeOf(again));
    if (first.results > 0) throw new Error("started again with the conversation that was cleared");
    return { said: "the new conversation is known, restarted with it", seconds: seconds(known - at) };
  },
};

/**
 * A conversation is taken up by its own command, and the agent killed before anybody has spoken to it: the same
 * command takes it up again, and nobody says that it was lost.
 */
const continued: Story = {
  may: ["restart"],
  well: false,
  async play(watched) {
    await eventOf(watched, "AGENT_NEEDS_YOU", 60_000);
    const at = Date.now();
    for (const pid of processesOfProgram(watched)) process.kill(pid, "SIGKILL");
    const again = await eventOf(watched, "RECOVERY_COMPLETED", 30_000);
    const { lost } = again.payload as { lost: { conversation?: string } };
    if (lost.conversation !== "kept") throw new Error(`its conversation is said to be ${lost.conversation}`);
    const window = openTerminal(process.execPath, [rouse, "attach", agentName], { home: watched.daemon.home });
    const isThere = async () => (await window.screen()).join("").includes(lastWords);
    await until("its conversation stands there", isThere, 30_000);
    return { said: "restarted, its conversation kept", seconds: seconds(timeOf(again) - at) };
  },
};

/** What a person types who looks in for a moment. */
async function typeInto({ daemon }: Watched, text: string): Promise<void> {
  const window = openTerminal(process.execPath, [rouse, "attach", agentName], { home: daemon.home });
  const has = async (row: RegExp) => (await window.screen()).some((each) => row.test(each));
  await until("its input stands there", () => has(/^❯\s*$/), 20_000);
  window.type(text);
  await until(`${text} stands there`, () => has(new RegExp(`^❯\\s${text}`)), 10_000);
  window.type("\r");
  await until("its input is empty again", () => has(/^❯\s*$/), 10_000);
  window.type("\x1dd");
  await window.ended;
}

/** The window is closed: it ends as it would without Rouse, or what is left of it is told. */
const closed: Story = {
  may: [],
  well: false,
  async play(watched) {
    const { terminal } = watched;
    if (terminal === null) throw new Error("only a terminal can be closed");
    await atWork(watched);
    await requestOf(watched, "has two results", 60_000, ({ results }) => results >= 2);
    const at = Date.now();
    terminal.close();
    const told = () => watched.events("AGENT_LEFT_PROCESSES")[0];
    const over = await until(
      "it is over, or what is left of it is told",
      () => {
        const leftovers = told();
        if (leftovers !== undefined) return "processes it left are told";
        return (
          processesOfProgram(watched).length === 0 &&
          watched.events("PROCESS_EXITED").length > 0 &&
          "ended with its terminal"
        );
      },
      25_000,
    );
    return { said: over, seconds: seconds(Date.now() - at) };
  },
};

export const stories: Readonly<Record<Scenario, Story>> = {
  normal,
  edits: normal,
  loop,
  nudge,
  contain,
  permission: need("permission"),
  trust: need("trust"),
  question: need("question"),
  plan: need("plan"),
  rate: putOff(12),
  overload: putOff(12),
  limit: putOff(limitSeconds),
  quota,
  auth,
  hang,
  slow,
  tool,
  background,
  context,
  killed,
  cleared,
  continued,
  closed,
};
