import type { ConfigReading } from "../../../config/read-config.ts";
import { exit } from "../../exit-codes.ts";
import type { Surroundings } from "../../surroundings.ts";
import { drawFacts } from "../../text/draw-table.ts";
import { styled, wrapLine } from "../../text/styled-text.ts";
import { type AddCommand, type Json, jsonOption } from "../add-command.ts";

export const addConfig: AddCommand = (program, here, finish) => {
  const config = program.command("config").description("check, print or describe the configuration");
  for (const add of [addCheck, addPrint, addSchema]) add(config, here, finish);
};

/** The same files, in the same order, that `rouse up` would read here. */
async function load(here: Surroundings, configFile: string | undefined): Promise<ConfigReading> {
  const { loadConfig } = await import("../../../config/load-config.ts");
  return loadConfig({ ...here, configFile });
}

const addCheck: AddCommand = (config, here, finish) => {
  config
    .command("check")
    .description("name every mistake at once, and settings without effect")
    .argument("[file]", "instead of config.yaml in $ROUSE_HOME")
    .option(...jsonOption)
    .action(async (file: string | undefined, { json }: Json) => {
      const reading = await load(here, file);
      if (json) here.printJson(checkDocument(reading));
      else await showCheck(here, reading);
      finish(reading.ok ? exit.fine : exit.usage);
    });
};

function checkDocument(reading: ConfigReading) {
  if (!reading.ok) return { ok: false, problems: reading.problems };
  const { preset, sources, notices } = reading.config;
  return { ok: true, preset, sources, notices };
}

async function showCheck(here: Surroundings, reading: ConfigReading): Promise<void> {
  const { describePlace, describeProblem } = await import("../../../config/config-problem.ts");
  if (!reading.ok) {
    here.print(reading.problems.flatMap((problem) => wrapLine([describeProblem(problem)], here.width, 4)));
    return;
  }
  const { sources, notices } = reading.config;
  here.print([
    [styled("green", "The configuration is fine.")],
    ...drawFacts([["from", ...sources.map((source) => [source])]], here.width, 2),
    ...notices.flatMap((notice) =>
      wrapLine([styled("yellow", "note "), `${describePlace(notice)}: ${notice.message}`], here.width, 5),
    ),
  ]);
}

const addPrint: AddCommand = (config, here) => {
  config
    .command("print")
    .description("the settings that `rouse up` would use, each one explained")
    .option("--config <file>", "instead of config.yaml in $ROUSE_HOME")
    .option(...jsonOption)
    .action(async ({ config: file, json }: { config?: string; json?: true }) => {
      const { requireConfig } = await import("../../../config/read-config.ts");
      const config = requireConfig(await load(here, file));
      const { preset, sources, settings, overrides } = config;
      if (json) return here.printJson({ preset, sources, settings, overrides });
      const { printConfig } = await import("../../../config/print-config.ts");
      here.printText(printConfig(config));
    });
};

const addSchema: AddCommand = (config, here) => {
  config
    .command("schema")
    .description("the JSON Schema of config.yaml, for editors")
    .option("--json", "has no effect: the schema is JSON anyway")
    .action(async () => {
      const { configSchema } = await import("../../../config/config-document.ts");
      here.printJson(configSchema());
    });
};
