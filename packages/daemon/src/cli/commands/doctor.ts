import type { Check, Verdict } from "../doctor/check.ts";
import { exit } from "../exit-codes.ts";
import { drawFacts, type Fact } from "../show/draw-facts.ts";
import { type Line, type Style, styled } from "../show/styled-text.ts";
import type { AddCommand } from "./add-command.ts";

export const addDoctor: AddCommand = (program, here, finish) => {
  program
    .command("doctor")
    .description("look for what could keep Rouse from working here")
    .option("--json", "print one JSON document")
    .action(async ({ json }: { json?: true }) => {
      const { examine } = await import("../doctor/examine.ts");
      const checks = await examine(here);
      const ok = checks.every(({ verdict }) => verdict !== "fail");
      if (json) here.printJson({ ok, checks });
      else here.print(showChecks(checks, here.width));
      finish(ok ? exit.fine : exit.wrong);
    });
};

const styles: Readonly<Record<Verdict, Style>> = { ok: "green", warn: "yellow", fail: "red" };

export function showChecks(checks: readonly Check[], width: number): Line[] {
  return drawFacts(
    checks.map(({ name, verdict, text, advice }): Fact => {
      const found: Line = [styled(styles[verdict], verdict.padEnd(4)), `  ${text}`];
      return advice === undefined ? [name, found] : [name, found, [`      ${advice}`]];
    }),
    width,
  );
}
