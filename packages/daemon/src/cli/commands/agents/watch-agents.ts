import { type AgentList, type EpochMs, type EventType, eventTypes, Fault } from "@rouse/contract";
import type { RouseClient } from "@rouse/sdk";
import { documentOf, type PsPlan, picture } from "../../show/agents.ts";
import type { Surroundings } from "../../surroundings.ts";
import { type Line, styled } from "../../text/styled-text.ts";
import { lasting } from "../../text/tell-time.ts";

/** What happens within this time is one change: a fleet that starts would otherwise be drawn a thousand times. */
const gather = 150;
/** Ages are told to the second. */
const tick = 1000;

/** Beats alone change nothing that is shown. */
const types: readonly EventType[] = eventTypes.filter((type) => type !== "AGENT_HEARTBEAT");

/** Where the picture goes: a terminal, or whatever reads us. */
interface View {
  show(fleet: AgentList): void;
  /** The connection is lost since then: what is shown may be over. `null`: it is there again. */
  stale(since: EpochMs | null): void;
  end(): void;
}

/** `rouse ps -w`: everybody as they are, drawn anew when something happened to somebody. Resolves with how to end. */
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

/** Asks for everybody with each connection and after each event; what happens while it asks is asked for once more. */
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
      // A connection that broke is taken up again, and then everybody is asked for anew.
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

/** One picture that stays where it is. Ages go on by themselves. */
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

/** In a pipe: a block, or a line of JSON, for each change of what is shown. That time passes is none. */
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

/** Another screen without a cursor, on which long rows are cut and not continued; and back. */
const enter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const leave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/** Terminals that know these draw a frame at once; the others take no notice. */
const beginFrame = "\x1b[?2026h\x1b[H";
const endFrame = "\x1b[?2026l";
/** What was in a row, or in it and all below. Before the row is written: behind a full one the cursor stands on its last character. */
const clearRow = "\x1b[K";
const clearRest = "\x1b[J";

export interface HeldScreen {
  /** Draws over what was there; nothing is written when nothing has changed. */
  draw(rows: readonly string[]): void;
  /** Gives the terminal back as it was. Twice is fine. */
  release(): void;
}

/** The whole terminal for a picture that stays where it is. It is given back however this process ends, unless it is killed. */
export function holdScreen(stdout: Pick<NodeJS.WriteStream, "write" | "rows">): HeldScreen {
  let drawn = "";
  let released = false;
  const release = (): void => {
    if (released) return;
    released = true;
    process.off("exit", release);
    stdout.write(leave);
  };
  process.on("exit", release);
  stdout.write(enter);
  return {
    draw(rows) {
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

/** What has no room is counted, so that nobody takes the last row for the last agent. */
export function fit(rows: readonly string[], height: number): readonly string[] {
  if (rows.length <= height) return rows;
  const left = rows.length - height + 1;
  return [...rows.slice(0, height - 1), `… ${left} more rows; a filter shows fewer agents (rouse ps --help)`];
}
