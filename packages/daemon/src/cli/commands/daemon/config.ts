import type { Command } from "commander";
import type { ConfigReading } from "../../../config/read-config.ts";
import { exit } from "../../exit-codes.ts";
import type { Surroundings } from "../../surroundings.ts";
import { drawFacts } from "../../text/draw-facts.ts";
import { wrapLine } from "../../text/fit-text.ts";
import { styled } from "../../text/styled-text.ts";
import type { AddCommand } from "../add-command.ts";

export const addConfig: AddCommand = (program, here, finish) => {
  const config = program.command("config").description("check, print or describe the configuration");
  addCheck(config, here, finish);
  addPrint(config, here, finish);
  addSchema(config, here, finish);
};

/** The same files, in the same order, that `rouse up` would read here. */
async function load(here: Surroundings, configFile: string | undefined): Promise<ConfigReading> {
  const { loadConfig } = await import("../../../config/load-config.ts");
  return loadConfig({ configFile, home: here.home, workingFolder: here.workingFolder, environment: here.environment });
}

const addCheck: AddCommand = (config, here, finish) => {
  config
    .command("check")
    .description("every mistake at once, and what has no effect")
    .argument("[file]", "instead of config.yaml in $ROUSE_HOME")
    .option("--json", "print one JSON document")
    .action(async (file: string | undefined, { json }: { json?: true }) => {
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
    .description("what Rouse goes by, every setting explained")
    .option("--config <file>", "instead of config.yaml in $ROUSE_HOME")
    .option("--json", "print one JSON document")
    .action(async ({ config: file, json }: { config?: string; json?: true }) => {
      const { requireConfig } = await import("../../../config/read-config.ts");
      const { preset, sources, settings, overrides, ...rest } = requireConfig(await load(here, file));
      if (json) return here.printJson({ preset, sources, settings, overrides });
      const { printConfig } = await import("../../../config/print-config.ts");
      here.printText(printConfig({ preset, sources, settings, overrides, ...rest }));
    });
};

const addSchema: AddCommand = (config: Command, here: Surroundings) => {
  config
    .command("schema")
    .description("the JSON Schema of config.yaml, for editors")
    .option("--json", "as it is anyway")
    .action(async () => {
      const { configSchema } = await import("../../../config/config-document.ts");
      here.printJson(configSchema());
    });
};
