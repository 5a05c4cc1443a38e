import { type AgentList, type EpochMs, type EventType, eventTypes, Fault } from "@rouse/contract";
import type { RouseClient } from "@rouse/sdk";
import { documentOf, type PsPlan, picture } from "../../show/agents.ts";
import type { Surroundings } from "../../surroundings.ts";
import { type Line, styled } from "../../text/styled-text.ts";
import { lasting } from "../../text/tell-time.ts";
import { holdScreen } from "./hold-screen.ts";

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
