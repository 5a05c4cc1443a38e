import type { ExitStatus } from "@rouse/contract";
import type { Size } from "../protocol/messages.ts";
import type { Spec } from "../protocol/spec.ts";
import type { AgentProcess, Ended } from "./agent-process.ts";
import type { Foreground, Handle } from "./foreground.ts";
import { endsPrograms, judgeExit } from "./judge-exit.ts";
import type { KeptScreen } from "./keep-screen.ts";
import { wakeSuspended } from "./wake-suspended.ts";

/** An agent's terminal and everybody who sits in front of it. Between pipes there is neither screen nor anybody. */
export interface TendedTerminal {
  readonly screen: KeptScreen | null;
  /** The screen for somebody who comes. */
  readonly paint: (() => Promise<string>) | null;
  size(): Size;
  /** How many terminals people have open on it. */
  attached(): number;
  /** By a person: nobody else is meant by what follows from a key. */
  type(bytes: Buffer): void;
  /** Somebody has begun a line and not ended it, as far as their keys tell. */
  midLine(): boolean;
  /** Since anybody last pressed a key; since the start when nobody has. */
  untouchedMs(): number;
  /** As large as the smallest of them shows; as before when nobody is left. */
  fit(): Size;
  /** `end`: asks the whole tree to end, and forces it when it does not. */
  begin(agent: AgentProcess, others: () => readonly Size[], end: () => void): void;
  judge(ended: Ended, ordered: boolean): ExitStatus;
  /** Somebody sits before `rouse run`, or reads from it, and wants it to end with the agent. */
  waitedFor(): boolean;
  /** Gives the terminal it was started from back, with a last word of ours. */
  end(exit: ExitStatus, lastWord: string | null): Promise<void>;
}

/** Enter, and the keys that throw a line away: Ctrl-C, Ctrl-D, Ctrl-U, Ctrl-\ */
const lineEnds: readonly number[] = [0x0d, 0x0a, 0x03, 0x04, 0x15, 0x1c];

export async function tendTerminal(spec: Spec, near: Foreground | null): Promise<TendedTerminal> {
  const hasTerminal = spec.io === "terminal";
  let agent: AgentProcess | null = null;
  let others: () => readonly Size[] = () => [];
  let size: Size = { cols: spec.cols, rows: spec.rows };
  let typedAt: number | null = null;
  let hungUpAt: number | null = null;
  let hangUpSent = false;
  let terminated = false;
  let endTree: () => void = () => {};
  let midLine = false;
  let touchedAt = performance.now();
  const screen = hasTerminal ? (await import("./keep-screen.ts")).keepScreen(size, reply) : null;

  /** Programs ask their terminal things, and some do not start without an answer. People's terminals give their own. */
  function reply(bytes: Buffer): void {
    if (sizes().length === 0) agent?.write(bytes);
  }

  function sizes(): Size[] {
    const here = hasTerminal && hungUpAt === null ? (near?.size() ?? null) : null;
    return here === null ? [...others()] : [...others(), here];
  }

  function fit(): Size {
    const all = sizes();
    if (all.length === 0) return size;
    const cols = Math.min(...all.map((each) => each.cols));
    const rows = Math.min(...all.map((each) => each.rows));
    if (cols === size.cols && rows === size.rows) return size;
    size = { cols, rows };
    agent?.resize(cols, rows);
    screen?.resize(cols, rows);
    return size;
  }

  function type(bytes: Buffer): void {
    touchedAt = performance.now();
    if (endsPrograms(bytes)) typedAt = performance.now();
    const last = bytes.at(-1);
    if (last !== undefined) midLine = !lineEnds.includes(last);
    agent?.write(bytes);
    if (hasTerminal && agent !== null) wakeSuspended(agent.pid, bytes);
  }

  const handle: Handle = {
    type,
    resize: () => void fit(),
    signal: (name) => agent?.kill(name),
    interrupted() {
      typedAt = performance.now();
    },
    hangUp(sent) {
      hungUpAt = performance.now();
      hangUpSent = sent;
      agent?.hangUp();
      agent?.resume();
    },
    terminate() {
      terminated = true;
      endTree();
    },
    pause: () => agent?.pause(),
    resume: () => agent?.resume(),
  };

  return {
    screen,
    paint: screen === null ? null : () => screen.settle(() => screen.picture()),
    size: () => size,
    attached: () => sizes().length,
    type,
    midLine: () => (hasTerminal ? midLine : (agent?.midLine() ?? false)),
    untouchedMs: () => performance.now() - touchedAt,
    fit,
    begin(started, otherSizes, end) {
      agent = started;
      others = otherSizes;
      endTree = end;
      near?.begin(handle);
      fit();
    },
    judge: (ended, ordered) =>
      judgeExit(ended, { ordered, typedAt, hungUpAt, hangUpSent, terminated }, performance.now()),
    waitedFor: () => near !== null && hungUpAt === null && !terminated,
    async end({ signal }, lastWord) {
      const fullScreen = (await screen?.settle(() => screen.screen().alternate)) ?? false;
      await near?.end({ killed: signal !== null, fullScreen, lastWord });
    },
  };
}
