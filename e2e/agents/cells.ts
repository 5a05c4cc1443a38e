import type { Eye, NudgeChannel } from "@rouse/contract";
import type { Mode, ProgramName } from "./programs.ts";
import type { Scenario } from "./scenarios.ts";

/**
 * How an agent that was put off goes on: its model is asked again with the conversation, whoever sees to that, or a
 * person is told what is the matter.
 */
export type GoesOn = "conversation" | "person";

/** One cell of the table: a program, started in one way, in one situation. */
export interface Cell {
  readonly program: ProgramName;
  readonly mode: Mode;
  readonly scenario: Scenario;
  /** The eyes by which it is to be seen; any is good enough when not given. */
  readonly eyes?: readonly Eye[];
  /** The way by which a nudge is to come; any is good enough when not given. */
  readonly by?: NudgeChannel;
  /** Any of these is right; the conversation when not given. */
  readonly goesOn?: readonly GoesOn[];
  /** The program goes on by itself after its reset, in its own time; whoever helps it along would be in its way. */
  readonly continues?: boolean;
  /** Why nobody outside can know better. Rouse may then say less, but nothing that harms. */
  readonly cannot?: string;
}

/** Stable: what is written about a cell elsewhere goes by it. */
export const idOf = ({ program, mode, scenario }: Cell): string => `${program}-${mode}-${scenario}`;

type More = Omit<Cell, "program" | "mode" | "scenario">;
type Row = Partial<Record<Scenario, More>>;

const any: More = {};
const byStream: More = { eyes: ["stream"] };
const byWork: More = { eyes: ["hooks", "session-file"] };
const byFile: More = { eyes: ["session-file"] };
const bySteering: More = { ...byFile, by: "steer" };
const nobodyListens = "nothing reaches it while it works: it reads no input and has no hooks";

const table: Readonly<Record<ProgramName, Partial<Record<Mode, Row>>>> = {
  claude: {
    stream: {
      normal: byStream,
      loop: byStream,
      nudge: byStream,
      contain: byStream,
      rate: byStream,
      overload: byStream,
      limit: byStream,
      quota: byStream,
      auth: byStream,
      hang: byStream,
      slow: byStream,
      tool: byStream,
      context: byStream,
      edits: byStream,
      killed: byStream,
    },
    plain: {
      normal: byWork,
      loop: byWork,
      nudge: byWork,
      contain: byWork,
      rate: byWork,
      limit: byWork,
      auth: any,
      killed: byWork,
    },
    spawn: {
      normal: byWork,
      loop: byWork,
      nudge: byWork,
      contain: byWork,
      permission: any,
      trust: any,
      question: any,
      plan: any,
      rate: any,
      overload: { goesOn: ["conversation", "person"] },
      limit: { continues: true },
      auth: any,
      hang: any,
      slow: byWork,
      tool: byWork,
      background: byWork,
      context: any,
      edits: byWork,
      killed: byWork,
      cleared: byWork,
      continued: any,
    },
    run: {
      normal: byWork,
      loop: byWork,
      permission: any,
      trust: any,
      question: any,
      limit: { continues: true },
      closed: any,
    },
  },
  codex: {
    stream: {
      normal: byStream,
      loop: byStream,
      nudge: { ...byStream, cannot: nobodyListens },
      rate: byStream,
      limit: byStream,
      quota: byStream,
      auth: byStream,
      hang: byStream,
      slow: byStream,
      tool: byStream,
      context: byStream,
      edits: byStream,
      killed: byStream,
    },
    plain: { normal: byFile, loop: byFile, rate: byFile, limit: byFile, auth: byFile, context: any, killed: byFile },
    spawn: {
      normal: byFile,
      loop: byFile,
      nudge: bySteering,
      permission: any,
      trust: any,
      rate: { goesOn: ["conversation", "person"] },
      limit: { goesOn: ["conversation", "person"] },
      auth: any,
      hang: any,
      slow: byFile,
      tool: byFile,
      context: any,
      edits: byFile,
      killed: byFile,
      continued: any,
    },
    run: {
      normal: byFile,
      loop: byFile,
      nudge: bySteering,
      permission: any,
      limit: { goesOn: ["conversation", "person"] },
      closed: any,
    },
  },
  opencode: {
    stream: {
      normal: byStream,
      loop: byStream,
      nudge: { ...byStream, cannot: nobodyListens },
      rate: { ...byStream, cannot: "its stream does not tell that it was put off" },
      auth: byStream,
      hang: byStream,
      slow: byStream,
      tool: byStream,
      context: byStream,
      edits: byStream,
      killed: byStream,
    },
    plain: { normal: byFile, loop: byFile, auth: byFile, killed: byFile },
    spawn: {
      normal: byFile,
      loop: byFile,
      nudge: byFile,
      permission: any,
      question: any,
      rate: any,
      overload: any,
      limit: any,
      auth: any,
      hang: any,
      slow: byFile,
      tool: byFile,
      context: any,
      edits: byFile,
      killed: byFile,
      continued: any,
    },
    run: { normal: byFile, loop: byFile, permission: any, closed: any },
  },
  gemini: {
    stream: { normal: byStream, loop: byStream, rate: byStream, auth: byStream, tool: byStream },
    plain: { normal: byFile },
    spawn: {
      normal: byFile,
      loop: any,
      permission: any,
      trust: any,
      rate: { cannot: "it shows that it thinks while it tries again" },
      auth: any,
      slow: any,
      edits: byFile,
      killed: byFile,
    },
    run: { normal: byFile, closed: any },
  },
};

export const cells: readonly Cell[] = Object.entries(table).flatMap(([program, ways]) =>
  Object.entries(ways).flatMap(([mode, row]) =>
    Object.entries(row).map(
      ([scenario, more]): Cell => ({
        program: program as ProgramName,
        mode: mode as Mode,
        scenario: scenario as Scenario,
        ...more,
      }),
    ),
  ),
);
