import { Fault, type RecoveryContext } from "@rouse/contract";
import { type Send, send } from "../send.ts";
import type { Agent, AgentOptions, AgentStep } from "./agent-api.ts";
import type { Describing } from "./calls/describe-call.ts";
import { checkOwn, ownBreakers } from "./calls/own-breakers.ts";
import { findRouse } from "./find-rouse.ts";
import { gatherFacts } from "./gather-facts.ts";
import { hearCommands } from "./hear-commands.ts";
import { type Identity, identify } from "./identity.ts";
import { openLink } from "./link.ts";
import { sendBeats } from "./send-beats.ts";
import { sendSteps } from "./send-steps.ts";
import { speakFor } from "./speak-once.ts";
import { stopAgent } from "./stop-agent.ts";
import { type Environment, hostProcess, within } from "./surroundings.ts";
import { writeState } from "./write-state.ts";

const needsTask = "checkpoints and steps need a task: rouse.agent({ task: … }), or ROUSE_TASK_ID in the environment";
const lastWordsMs = { finish: 5000, close: 2000 };

/** Agents of this process that are not closed: a second call for one gives the same. */
const running = new Map<string, Agent>();

export const rouse = {
  /** Begins to tell Rouse of this agent, in the background. Throws only for what its author got wrong. */
  agent(options: AgentOptions = {}): Agent {
    if (typeof options !== "object" || options === null)
      throw new Fault("bad-request", 'an agent is described by an object, such as rouse.agent({ id: "writer" })');
    const env = options.env ?? hostProcess()?.env ?? {};
    const who = identify(options, env);
    const { beatEveryMs: everyMs = 5000, breakers = {} } = options;
    if (!(everyMs >= 100 && everyMs <= 86_400_000))
      throw new RangeError(`beatEveryMs is a number from 100 to 86400000, not ${everyMs}`);
    checkOwn(breakers);
    const key = JSON.stringify([who.id, options.url ?? env["ROUSE_URL"]]);
    const known = running.get(key);
    if (known !== undefined) return known;
    const agent = start(who, { ...options, breakers }, everyMs, env, () => running.delete(key));
    running.set(key, agent);
    return agent;
  },
};

function start(who: Identity, options: AgentOptions, everyMs: number, env: Environment, forget: () => void): Agent {
  const { breakers: rules = {} } = options;
  const onWarning = (text: string): void => {
    try {
      (options.onWarning ?? warn)(text);
    } catch {
      // A warning that cannot be given is no reason to stop.
    }
  };
  let recovered: RecoveryContext | null = who.recovered;
  const link = openLink({ find: () => findRouse(options, env), send: wayOf(options).catch(() => send), onWarning });
  const speaker = speakFor(who.id, env);
  const isGuest = speaker.host !== null;
  const changed = (): void => {
    if (!isGuest) beats.changed();
  };
  const facts = gatherFacts(changed, link.warnOnce);
  const breakers = ownBreakers(rules, changed, (operation, text) => link.warnOnce(`breaker ${operation}`, text));
  let doubtRules = (): void => undefined;
  import("./calls/follow-breaker-rules.ts").then(
    (module) => {
      doubtRules = module.followBreakerRules({ agentId: who.id, link, obey: breakers.obey });
    },
    () => undefined,
  );
  const stopping = stopAgent({ onWarning, lastWords: () => sayAll(lastWordsMs.close) });
  const commands = hearCommands({
    checkIn() {
      breakers.tellAll();
      doubtRules();
      changed();
    },
    resetBreaker: breakers.reset,
    recover(context) {
      recovered ??= context;
    },
    stop: stopping.stop,
    changed,
    onWarning,
    onMistake: link.tellMistake,
  });
  const hasBegun = (): boolean => isGuest || beats.hasBegun();
  const steps = sendSteps(who.id, link, hasBegun);
  const { task } = who;
  const work =
    task === null
      ? Promise.reject(new Fault("bad-request", needsTask))
      : import("./work-on-task.ts").then(({ workOnTask }) =>
          workOnTask({
            ...{
              who: { ...who, task },
              env,
              link,
              breakers,
              mayBegin: hasBegun,
              isKeptOut: beats.isKeptOut,
              life: beats.life,
            },
            ...{ phase: facts.phase, progress: facts.progress, onSaved: facts.saved },
          }),
        );
  // Told to whoever asks for it.
  work.catch(() => undefined);
  const beats = sendBeats({
    ...{ who, everyMs, link, facts, breakers, receipts: commands.receipts, hear: commands.hear },
    onBegun() {
      steps.wake();
      void work.then(
        ({ wake }) => wake(),
        () => undefined,
      );
    },
    onReplaced: (message) => void stopping.stop({ because: "replaced", message }),
  });
  // Apart from the beats, and begun at once: a step without a digest is told as unknown.
  const describing: Promise<Describing> = import("./calls/describe-call.ts").catch(() => undescribed);
  // Likewise.
  const calls = import("./calls/guarded-calls.ts").then(({ guardedCalls }) =>
    guardedCalls({
      ...{ facts, breakers, tell: steps.add, changed, signal: stopping.signal, wait: facts.wait, describing },
    }),
  );
  calls.catch(() => undefined);

  const flush = (): Promise<unknown> =>
    Promise.all([
      steps.flush(),
      work.then(
        ({ flush: saveAll }) => saveAll(),
        () => undefined,
      ),
      isGuest ? null : beats.flush(),
    ]);

  /** Until everything is said, or nobody will listen before a person has changed something. */
  const sayAll = (mostMs: number): Promise<boolean> => within(mostMs, Promise.race([flush(), link.untilRefused()]));

  async function close(): Promise<void> {
    if (link.connection().state !== "closed") await sayAll(lastWordsMs.close);
    shut();
  }

  function shut(): void {
    link.close();
    beats.stop();
    stopping.close();
    speaker.end();
    forget();
  }

  if (speaker.host === null) beats.begin();
  else {
    const why = `process ${speaker.host} speaks for ${who.id} already, so this one sends no beats; its steps and checkpoints count`;
    link.note(why);
    link.warnOnce("guest", `${why}. An agent of its own needs an id of its own.`);
  }

  return {
    id: who.id,
    task: who.task,
    get recovered() {
      return recovered;
    },
    signal: stopping.signal,
    connection: link.connection,
    phase: facts.phase,
    progress: facts.progress,
    tokens: facts.tokens,
    context: facts.context,
    waiting: facts.wait,
    idle: facts.idle,
    tool: async (...given) => (await calls).tool(...given),
    request: async (...given) => (await calls).request(...given),
    fetch: async (...given) => (await calls).fetch(...given),
    breaker: (operation, own = {}) => breakers.give(operation, own),
    async checkpoint(step, state, name) {
      const text = writeState(step, state);
      return (await work).checkpoint(step, text, name);
    },
    steps: async <S>(list: readonly AgentStep<S>[], initial: S) => (await work).steps(list, initial),
    onNudge: commands.onNudge,
    onHandoff: commands.onHandoff,
    onStop: stopping.onStop,
    async finish() {
      facts.end("FINISHED");
      await sayAll(lastWordsMs.finish);
      shut();
    },
    async fail(error) {
      const said = error === undefined ? null : (await describing).describeError(error);
      facts.failed();
      if (error !== undefined)
        steps.add({ kind: "error", ...(said === null ? {} : { text_digest: said.digest, text_class: said.class }) });
      facts.end("FAILED");
      await sayAll(lastWordsMs.finish);
    },
    close,
  };
}

/** An agent whose author gave a way of their own goes that way. */
const wayOf = async ({ fetch }: AgentOptions): Promise<Send> =>
  fetch === undefined ? (await import("../send-over-http.ts")).sendByTheBestWay() : send;

const undescribed: Describing = { describe: () => null, describeError: () => null };

function warn(text: string): void {
  // biome-ignore lint/suspicious/noConsole: the author hears of trouble here unless they give a way of their own
  console.warn(`rouse: ${text}`);
}
