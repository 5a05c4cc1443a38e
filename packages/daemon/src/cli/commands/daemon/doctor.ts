import type { Check, Verdict } from "../../doctor/check.ts";
import { exit } from "../../exit-codes.ts";
import { wrapLine } from "../../text/fit-text.ts";
import { type Line, type Style, styled } from "../../text/styled-text.ts";
import type { AddCommand } from "../add-command.ts";

export const addDoctor: AddCommand = (program, here, finish) => {
  program
    .command("doctor")
    .description("look for what could keep Rouse from working here")
    .option("--json", "print one JSON document")
    .action(async ({ json }: { json?: true }) => {
      const { examine } = await import("../../doctor/examine.ts");
      const checks = await examine(here);
      const ok = checks.every(({ verdict }) => verdict !== "fail");
      if (json) here.printJson({ ok, checks });
      else here.print(showChecks(checks, here.width));
      finish(ok ? exit.fine : exit.wrong);
    });
};

const styles: Readonly<Record<Verdict, Style>> = { ok: "green", warn: "yellow", fail: "red" };

export function showChecks(checks: readonly Check[], width: number): Line[] {
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
