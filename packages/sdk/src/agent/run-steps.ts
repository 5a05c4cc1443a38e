import { Fault } from "@rouse/contract";
import { isObject } from "../read-recovery.ts";
import { parseOrNull } from "../send.ts";
import type { AgentStep } from "./agent-api.ts";
import type { Identity } from "./identity.ts";
import type { Link, LinkCall, Outcome } from "./link.ts";
import type { CheckpointSaver } from "./save-in-order.ts";
import { loadFiles, within } from "./surroundings.ts";
import { writeState } from "./write-state.ts";

/** How long a start waits for Rouse to say where to go on. */
const patienceMs = 10_000;
/** How many damaged checkpoints are passed over. */
const mostTried = 20;

interface Place {
  /** The step that is completed. */
  readonly step: number;
  readonly name: string | null;
  readonly state: unknown;
  /** Checkpoints that it goes on from, as far as they are known. */
  readonly before?: readonly Listed[];
}

interface Listed {
  readonly id: string;
  readonly step: number;
  readonly stepName: string;
  readonly parent: string | null;
}

interface StepParts {
  readonly who: Identity & { readonly task: string };
  readonly link: Link;
  readonly saver: CheckpointSaver;
  readonly life: () => number | null;
  readonly phase: (name: string) => void;
  readonly progress: (text: string) => void;
}

/** Runs a list of steps, each once over all lives of the agent, as far as anybody can know. */
export function runSteps({ who, link, saver, life, phase, progress }: StepParts) {
  const { task, recovered } = who;

  return async function steps<S>(list: readonly AgentStep<S>[], initial: S): Promise<S> {
    checkNames(list);
    saver.refuseReplaced("no step is begun");
    const place = await findPlace();
    if (place !== null) checkPlace(list, place, task);
    const isFresh = place === null;
    // That the task was begun is saved, too: a life that finds it knows that step 1 may have been begun.
    if (isFresh) await save(0, initial, "");
    let state = isFresh || (place.step === 0 && place.state === null) ? initial : (place.state as S);
    const done = place?.step ?? 0;
    for (const [at, step] of list.entries()) {
      const number = at + 1;
      if (number <= done) continue;
      saver.refuseReplaced(`step ${number} (${step.name}) is not begun`);
      phase(step.name);
      const context = { number, key: `${task}/${number}/${step.name}`, again: !isFresh && number === done + 1 };
      state = await step.run(state, context);
      await save(number, state, step.name);
      progress(`step ${number} of ${list.length}: ${step.name}`);
    }
    return state;
  };

  /** Too many that wait are told of by a warning; the work goes on, as it does without Rouse. */
  async function save(step: number, state: unknown, name: string): Promise<void> {
    await saver.checkpoint(step, writeState(step, state), name).catch((error: unknown) => {
      if (!(error instanceof Fault && error.retryable)) throw error;
    });
  }

  /** The newest that is known: on disk, with Rouse, or given to this life when it was brought back. */
  async function findPlace(): Promise<Place | null> {
    await saver.ready;
    const isSent = await within(patienceMs, saver.inheritanceSent());
    const waiting = saver.newestWaiting();
    const ofServer = isSent ? await askServer() : undefined;
    const known = ofServer ?? (ofServer === undefined ? await readGiven() : null);
    if (ofServer === undefined && known === null && waiting === null && life() !== 1 && who.life !== 1)
      link.warnOnce(
        "place",
        `nobody can say where task ${task} stands, so it starts with step 1. What must not be done twice needs the key of its step.`,
      );
    if (waiting !== null && waiting.step >= (known?.step ?? 0))
      return { step: waiting.step, name: waiting.name, state: parseOrNull(waiting.text) };
    return known;
  }

  /** `undefined`: it cannot be reached. `null`: it knows of none. */
  async function askServer(): Promise<Place | null | undefined> {
    const list = await ask({
      path: `/api/v1/tasks/${encodeURIComponent(task)}/checkpoints?limit=${mostTried}`,
      understands: isList,
    });
    if (list === undefined) return undefined;
    if (list.kind !== "answered") return null;
    const { checkpoints } = list.body as { checkpoints: readonly Listed[] };
    for (const id of [...checkpoints.map((one) => one.id), recovered?.checkpoint]) {
      const one = id == null ? null : await ask({ path: `/api/v1/checkpoints/${id}`, understands: isCheckpoint });
      if (one === undefined) return undefined;
      // A damaged state is not given out: the one before it may be whole.
      if (one === null || one.kind !== "answered") continue;
      const {
        step,
        stepName,
        state,
        id: found,
      } = one.body as { step: number; stepName: string; state: unknown; id: string };
      saver.goOnFrom(found, checkpoints[0]?.id);
      return { step, name: stepName, state, before: before(found, checkpoints) };
    }
    if (checkpoints.length > 0) saver.goOnFrom(null, checkpoints[0]?.id);
    return null;
  }

  async function ask(call: LinkCall): Promise<Exclude<Outcome, { kind: "later" }> | undefined> {
    const deadline = performance.now() + patienceMs;
    for (let wait = 200; performance.now() < deadline && !link.isOver(); wait *= 2) {
      const outcome = await link.exchange(call);
      if (outcome.kind !== "later") return outcome;
      if (outcome.slow) return undefined;
      await within(Math.min(wait, 2000), new Promise(() => undefined));
    }
    return undefined;
  }

  /** What Rouse gave this life is on disk, and can be read without Rouse. */
  async function readGiven(): Promise<Place | null> {
    if (recovered === null || recovered.taskId !== task || recovered.step === null) return null;
    const files = recovered.stateFile === null ? null : await loadFiles();
    const text = await files?.readFile(recovered.stateFile ?? "", "utf8").catch(() => undefined);
    return text === undefined ? null : { step: recovered.step, name: recovered.stepName, state: parseOrNull(text) };
  }
}

function checkNames(list: readonly AgentStep<never, unknown>[]): void {
  if (!Array.isArray(list) || !list.every((step) => typeof step?.run === "function"))
    throw new Fault("bad-request", 'steps are a list such as [{ name: "look", run: (state) => … }]');
  const names = list.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new Fault("bad-request", `two steps are called ${twice}; each needs a name of its own`);
  const bad = names.find((name) => typeof name !== "string" || name === "" || name.length > 200);
  if (bad !== undefined) throw new Fault("bad-request", "the name of a step has 1 to 200 characters");
}

/** A list that changed since the checkpoint was saved would go on in the wrong place. */
function checkPlace(list: readonly { readonly name: string }[], place: Place, task: string): void {
  const { step, name, before = [] } = place;
  for (const done of before) checkStep(list, done.step, done.stepName, task);
  checkStep(list, step, name, task);
}

/** From parent to parent: what other lives did, and was given up, does not count. */
function before(id: string, listed: readonly Listed[]): Listed[] {
  const chain: Listed[] = [];
  for (let one = listed.find((each) => each.id === id); one !== undefined && chain.length <= listed.length; ) {
    chain.push(one);
    const { parent } = one;
    one = listed.find((each) => each.id === parent);
  }
  return chain;
}

function checkStep(list: readonly { readonly name: string }[], step: number, name: string | null, task: string): void {
  if (step === 0) return;
  const expected = list[step - 1]?.name;
  if (expected === undefined)
    throw new Fault(
      "checkpoint-refused",
      `task ${task} has completed step ${step}, and the list has only ${list.length}`,
    );
  if (name !== null && name !== "" && name !== expected)
    throw new Fault(
      "checkpoint-refused",
      `task ${task} has completed step ${step} as "${name}", and the list calls it "${expected}": the list has changed. Give the new list a new task, or keep completed steps as they were`,
    );
}

const isList = (body: unknown): boolean => isObject(body) && Array.isArray(body["checkpoints"]);
const isCheckpoint = (body: unknown): boolean => isObject(body) && typeof body["id"] === "string" && "state" in body;
