import { exit, interrupted } from "../../exit-codes.ts";
import { type AddCommand, readWhole } from "../add-command.ts";

const afterword = `
Starts a Rouse of its own in a temporary folder with five small agents and a
policy in fast motion, prints what happens, and cleans up after itself. Nothing
outside that folder is touched; a Rouse that is running is left alone.`;

export const addDemo: AddCommand = (program, here, finish) => {
  program
    .command("demo")
    .description("see it at work: agents that work, loop, hang and crash, in under a minute")
    .option("--keep", "leave the folder behind to look at")
    .option("--seconds <n>", "give up after so long", readWhole(10, 600), 110)
    .addHelpText("after", afterword)
    .action(async ({ keep, seconds }: { keep?: true; seconds: number }) => {
      const { runDemo } = await import("../../../demo/run-demo.ts");
      const whole = await runDemo(here, { keep: keep === true, seconds, ended: untilUnwanted() });
      finish(whole === "interrupted" ? interrupted : whole === "over" ? exit.fine : exit.wrong);
    });
};

/** Resolves when the demo should end: Ctrl-C, a closed window, `| head`. Also if it comes twice, all is ended first. */
function untilUnwanted(): Promise<"interrupted"> {
  return new Promise((resolve) => {
    const end = (): void => resolve("interrupted");
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);
    // Other commands end at once when nobody reads their output.
    process.stdout.removeAllListeners("error").on("error", end);
  });
}
