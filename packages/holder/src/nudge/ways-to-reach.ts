import type { ProgramWatch } from "../program/watch-program.ts";
import type { Spec } from "../protocol/spec.ts";
import type { AgentProcess } from "../terminal/agent-process.ts";
import type { TendedTerminal } from "../terminal/tend-terminal.ts";
import type { AgentWatch } from "../watch/watch-agent.ts";
import type { Ways } from "./give-nudge.ts";

/** A terminal that hands out whole lines keeps no longer ones. */
const longestTerminalLine = 4095;

/** How words come to an agent that runs. */
export function waysToReach(
  spec: Spec,
  { write, deliver }: AgentProcess,
  { screen, attached, midLine, untouchedMs }: TendedTerminal,
  program: ProgramWatch,
  { over, watch }: { over(): boolean; watch(): AgentWatch },
): Ways {
  return {
    input: program.input,
    hooks: program.nudges,
    steer: program.steer,
    slot: {
      over,
      midLine,
      deliver,
      longest: screen === null ? Number.POSITIVE_INFINITY : longestTerminalLine,
      gave: (nudge) => watch().gave(nudge),
    },
    keyboard: screen && {
      screen,
      get family() {
        return program.family();
      },
      patterns: () => watch().patterns(),
      // Whoever started it in their terminal decides what is typed there, even when they have just left.
      attached: () => spec.foreground || attached() > 0,
      untouchedMs,
      inFront: program.inFront,
      over,
      said(text, nudge) {
        watch().said(text);
        program.typed({ id: nudge, text });
      },
      taken(nudge) {
        if (!program.tellsReceipts()) watch().saw("screen", [{ kind: "nudge-read", nudge, by: "screen" }]);
      },
      write,
    },
  };
}
