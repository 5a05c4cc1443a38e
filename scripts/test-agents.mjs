// npm run test:agents [-- --program NAME --mode NAME --scenario NAME --record FOLDER --write-docs]: real programs under
// Rouse, and a table of what it said.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { ensureBuilt } from "./ensure-built.mjs";
import { giveUp } from "./repository.mjs";
import { becomeNode, programs } from "./run-program.mjs";

const usage =
  "npm run test:agents [-- --program claude|codex|opencode|gemini --mode stream|plain|spawn|run --scenario NAME --record FOLDER --write-docs]";
const one = { type: "string" };
const { program, mode, scenario, record, "write-docs": writeDocs } = readOptions();

await ensureBuilt();
const asked = {
  ROUSE_AGENTS_PROGRAM: program,
  ROUSE_AGENTS_MODE: mode,
  ROUSE_AGENTS_SCENARIO: scenario,
  ROUSE_AGENTS_RECORD: record === undefined ? undefined : resolve(record),
  ROUSE_AGENTS_WRITE_DOCS: writeDocs === true ? "1" : undefined,
};
for (const [name, value] of Object.entries(asked)) if (value !== undefined) process.env[name] = value;
becomeNode([programs.vitest, "run", "--config", "vitest.agents.config.ts"]);

function readOptions() {
  try {
    const options = { program: one, mode: one, scenario: one, record: one, "write-docs": { type: "boolean" } };
    return parseArgs({ options }).values;
  } catch (error) {
    return giveUp(`${error.message}\n${usage}`);
  }
}
