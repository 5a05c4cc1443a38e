import { type AgentList, type EpochMs, type EventType, eventTypes, Fault } from "@rouse/contract";
import type { RouseClient } from "@rouse/sdk";
import { documentOf, type PsPlan, picture } from "../../show/agents.ts";
import type { Surroundings } from "../../surroundings.ts";
import { type Line, styled } from "../../text/styled-text.ts";
import { lasting } from "../../text/tell-time.ts";

/** Events within this time are one change: a fleet that starts would otherwise be drawn a thousand times. */
const gather = 150;
/** How often the ages are drawn anew: they are told to the second. */
const tick = 1000;

/** Beats alone change nothing that the picture shows. */
const types: readonly EventType[] = eventTypes.filter((type) => type !== "AGENT_HEARTBEAT");

/** Where the picture goes: a terminal, or a pipe. */
interface View {
  show(fleet: AgentList): void;
  /** The connection is lost since this time, so the picture may be outdated. `null`: the connection is back. */
  stale(since: EpochMs | null): void;
  end(): void;
}

/** `rouse ps -w`: shows all agents, and again after each event. Resolves with the exit code. */
export async function watchAgents(
  here: Surroundings,
  rouse: RouseClient,
  plan: PsPlan,
  { json }: { readonly json?: true },
): Promise<number> {
  const ending = new AbortController();
  let code = 0;
  for (const [name, number] of [
    ["SIGINT", 0],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)
    process.once(name, () => {
      code = number;
      ending.abort();
    });
  const watching = plan.view.watching ? plan : { ...plan, view: { ...plan.view, watching: true } };
  const view =
    json !== true && process.stdout.isTTY ? drawInPlace(here, watching) : printChanges(here, watching, json === true);
  try {
    await follow(here, rouse, view, ending.signal);
  } finally {
    view.end();
  }
  return code;
}

/** Asks for all agents after each connection and each event; once more after an event that comes meanwhile. */
async function follow(here: Surroundings, rouse: RouseClient, view: View, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | null = null;
  let failed: (error: unknown) => void = () => {};
  const anyFailure = new Promise<never>((_, reject) => {
    failed = reject;
  });
  anyFailure.catch(() => {});

  async function look(): Promise<void> {
    try {
      const fleet = await rouse.fleet();
      if (!signal.aborted) view.show(fleet);
    } catch (error) {
      // After a lost connection is back, all agents are asked for anew.
      if (!(error instanceof Fault && error.retryable)) failed(error);
    } finally {
      timer = null;
      if (again && !signal.aborted) lookSoon();
    }
  }

  let again = false;
  function lookSoon(): void {
    again = timer !== null;
    timer ??= setTimeout(() => {
      again = false;
      void look();
    }, gather);
  }

  const events = rouse.streamEvents({
    types,
    signal,
    onInterrupted: () => view.stale(here.now()),
    onConnected() {
      view.stale(null);
      lookSoon();
    },
  });
  const following = (async () => {
    for await (const _ of events) lookSoon();
  })();
  await Promise.race([following, anyFailure]);
  if (timer !== null) clearTimeout(timer);
}

/** Draws one picture that stays in place. Its ages are updated every second. */
function drawInPlace(here: Surroundings, plan: PsPlan): View {
  const { stdout } = process;
  const screen = holdScreen(stdout);
  let fleet: AgentList | null = null;
  let staleSince: EpochMs | null = null;

  function draw(): void {
    const width = Math.max(20, stdout.columns || 80);
    const shown = fleet === null ? [["Asking …"]] : picture(fleet, plan, { now: here.now, width });
    const lines = staleSince === null ? shown : [staleLine(staleSince, here.now()), ...shown];
    screen.draw(lines.map(here.paint));
  }

  const timer = setInterval(draw, tick);
  stdout.on("resize", draw);
  return {
    show(next) {
      fleet = next;
      draw();
    },
    stale(since) {
      staleSince = since === null ? null : (staleSince ?? since);
      draw();
    },
    end() {
      clearInterval(timer);
      stdout.off("resize", draw);
      screen.release();
    },
  };
}

const staleLine = (since: EpochMs, now: EpochMs): Line => [
  styled("yellow", "STALE"),
  ` for ${lasting(new Date(since).toISOString(), now)}: the connection to Rouse was lost; trying again`,
];

/** Prints, in a pipe, a block or a line of JSON for each change of what is shown. Passing time is no change. */
function printChanges(here: Surroundings, plan: PsPlan, json: boolean): View {
  let last = "";
  let isStale = false;
  return {
    show(fleet) {
      const atRest = picture(fleet, plan, { now: () => 0, width: Number.POSITIVE_INFINITY });
      const text = JSON.stringify(atRest);
      if (text === last) return;
      const time = new Date(here.now()).toISOString();
      if (json) here.printJsonLine({ time, ...documentOf(fleet, plan) });
      else here.print([...(last === "" ? [] : [[]]), [time], ...picture(fleet, plan, here)]);
      last = text;
    },
    stale(since) {
      if (since !== null && !isStale) here.warn("the connection to Rouse was lost; trying again");
      if (since === null && isStale) here.warn("the connection to Rouse is there again");
      isStale = since !== null;
    },
    end() {},
  };
}

/** Switches to the alternate screen, without a cursor and without wrapping of long rows, and back. */
const enter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const leave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/** Terminals that know these sequences draw a frame at once; others ignore them. */
const beginFrame = "\x1b[?2026h\x1b[H";
const endFrame = "\x1b[?2026l";
/** Clear a row, or a row and all below, before it is written: after a full row the cursor is on its last character. */
const clearRow = "\x1b[K";
const clearRest = "\x1b[J";

/** Takes the whole terminal for a picture, and restores it however this process ends, unless it is killed. */
export function holdScreen(stdout: Pick<NodeJS.WriteStream, "write" | "rows">) {
  let drawn = "";
  let released = false;
  /** Restores the terminal. Calling it twice is fine. */
  const release = (): void => {
    if (released) return;
    released = true;
    process.off("exit", release);
    stdout.write(leave);
  };
  process.on("exit", release);
  stdout.write(enter);
  return {
    /** Draws over what was there; nothing is written when nothing has changed. */
    draw(rows: readonly string[]): void {
      const shown = fit(rows, stdout.rows || 24);
      const last = shown.length - 1;
      const frame = shown.map((row, index) => `${index === last ? clearRest : clearRow}${row}`).join("\r\n");
      if (frame === drawn || released) return;
      drawn = frame;
      stdout.write(`${beginFrame}${frame}${endFrame}`);
    },
    release,
  };
}

/** Counts the rows that have no room, so that nobody takes the last row for the last agent. */
export function fit(rows: readonly string[], height: number): readonly string[] {
  if (rows.length <= height) return rows;
  const left = rows.length - height + 1;
  return [...rows.slice(0, height - 1), `… ${left} more rows; a filter shows fewer agents (rouse ps --help)`];
}
