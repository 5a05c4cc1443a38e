import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EscalationReason, FindingKind } from "@rouse/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createProgram } from "../cli/create-program.ts";
import { hintsFor } from "./remediation-hints.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rouse-hints-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const question = (reason: EscalationReason) => ({ id: "worker-1.3", agentId: "worker-1", reason });

const everyHint = (supervised: boolean) =>
  EscalationReason.options.flatMap((reason) => hintsFor(question(reason), FindingKind.options, supervised));

/** Whether the command line is understood; what it then finds in an empty home is not the question. */
async function isUnderstood(command: string): Promise<boolean> {
  const quiet = () => undefined;
  const here = {
    environment: {},
    workingFolder: home,
    home,
    width: 80,
    now: () => 0,
    print: quiet,
    paint: () => "",
    printJson: quiet,
    printJsonLine: quiet,
    printText: quiet,
    warn: quiet,
  };
  const program = await createProgram([], here, async () => undefined, quiet);
  const [, name, ...words] = command.split(" ");
  const found = program.commands.find((one) => one.name() === name);
  if (found === undefined) return false;
  if (name === "doctor") return words.length === 0;
  const outcome = await program
    .configureOutput({ writeErr: quiet, writeOut: quiet })
    .parseAsync([name ?? "", ...words], { from: "user" })
    .catch((error: unknown) => (error as { code?: string }).code ?? "");
  return !String(outcome ?? "").startsWith("commander.");
}

describe("hints", () => {
  it("begin with why somebody is asked and go on with what was found, each once", () => {
    const hints = hintsFor(question("mode"), ["no-progress", "no-output", "no-progress"], true);
    expect(hints.map(({ because }) => because)).toEqual(["mode", "no-progress", "no-output"]);
    expect(hints[0]).toMatchObject({ command: "rouse terminate worker-1" });
  });

  it("give commands that this rouse understands", async () => {
    for (const supervised of [true, false])
      for (const command of new Set(everyHint(supervised).map((hint) => hint.command)))
        expect(await isUnderstood(command), command).toBe(true);
  });

  it("send nobody to the terminal of an agent that has none here", () => {
    const commands = everyHint(false).map(({ command }) => command);
    expect(
      commands.filter((command) => /rouse (logs|attach|terminate|recover)\b|terminate_and_recover/.test(command)),
    ).toEqual([]);
  });

  it("name the agent whatever it is called", () => {
    const odd = { id: "ESCALATION.1", agentId: "ESCALATION", reason: "relapse" as const };
    expect(hintsFor(odd, [], true)[0]?.command).toBe("rouse why ESCALATION");
  });
});
