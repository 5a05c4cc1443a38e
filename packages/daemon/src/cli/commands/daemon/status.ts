import { version } from "../../../version.ts";
import type { Check, Verdict } from "../../doctor/check.ts";
import { type ExitCode, exit } from "../../exit-codes.ts";
import type { Life } from "../../gather-status.ts";
import { type Line, type Style, styled, wrapLine } from "../../text/styled-text.ts";
import { type AddCommand, type Json, jsonOption, tell } from "../add-command.ts";

const afterword = `
It ends with 0 when Rouse runs and can save what it hears, with 3 when none is
running, with 1 when one is there but does not answer or cannot save, and with 4
when the token here is not for asking.`;

const exits: Readonly<Record<Life, ExitCode>> = {
  ready: exit.fine,
  "not-ready": exit.wrong,
  "no-answer": exit.wrong,
  "not-running": exit.noDaemon,
  unreachable: exit.noDaemon,
  refused: exit.notAuthorised,
};

export const addStatus: AddCommand = (program, here, finish) => {
  program
    .command("status")
    .description("is Rouse running, where, since when, and is it well?")
    .option(...jsonOption)
    .addHelpText("after", afterword)
    .action(async (options: Json) => {
      const [{ gatherStatus }, { showStatus }] = await Promise.all([
        import("../../gather-status.ts"),
        import("../../show/status.ts"),
      ]);
      const report = await gatherStatus(here);
      const { life, daemon, ...rest } = report;
      const known = { running: life !== "not-running", ready: life === "ready", cliVersion: version };
      tell(here, options, { life, ...known, ...rest, daemon }, () => showStatus(report, here.now(), here.width));
      finish(exits[life]);
    });
};

export const addDoctor: AddCommand = (program, here, finish) => {
  program
    .command("doctor")
    .description("look for what could keep Rouse from working here")
    .option(...jsonOption)
    .action(async (options: Json) => {
      const { examine } = await import("../../doctor/examine.ts");
      const checks = await examine(here);
      const ok = checks.every(({ verdict }) => verdict !== "fail");
      tell(here, options, { ok, checks }, () => showChecks(checks, here.width));
      finish(ok ? exit.fine : exit.wrong);
    });
};

const styles: Readonly<Record<Verdict, Style>> = { ok: "green", warn: "yellow", fail: "red" };

function showChecks(checks: readonly Check[], width: number): Line[] {
  const names = Math.max(...checks.map(({ name }) => name.length)) + 2;
  const indent = names + 6;
  return checks.flatMap(({ name, verdict, text, advice }) => [
    ...wrapLine(
      [styled("dim", name.padEnd(names)), styled(styles[verdict], verdict.padEnd(4)), "  ", text],
      width,
      indent,
    ),
    ...(advice === undefined ? [] : wrapLine([" ".repeat(indent), advice], width, indent)),
  ]);
}
