import { once } from "node:events";
import { type DurationMs, type EpochMs, type ExitStatus, Fault, parseDuration, seconds } from "@rouse/contract";
import { type HolderFiles, holderFiles, readOutput, readOutputTimes } from "@rouse/holder";
import { InvalidArgumentError, Option } from "commander";
import { connectHolder, type Door, type HolderConnection } from "../../../holders/connect-holder.ts";
import { doorOf, isHolderAlive, listHeld, readExitFile, readHolderFile } from "../../../holders/read-holder-files.ts";
import { interrupted } from "../../exit-codes.ts";
import { connect } from "../../find-daemon.ts";
import { notStartedHere } from "../../find-held.ts";
import { createOutputPrinter, describeEnd, type OutputPrinter } from "../../show/print-output.ts";
import type { Surroundings } from "../../surroundings.ts";
import { type AddCommand, readWhole } from "../add-command.ts";

type Since = (now: EpochMs) => EpochMs;

interface LogsOptions {
  readonly follow?: true;
  readonly since?: Since;
  readonly tail?: number;
  readonly timestamps?: true;
  readonly raw?: true;
  readonly force?: true;
  readonly json?: true;
}

const pieceBytes = 1024 * 1024;

const rawOnTerminal =
  "--raw is for files and pipes: what an agent wrote could act on your terminal; --force prints it all the same";

const help = `
Everything that is kept is printed, of earlier lives too; -n or --since make it
less. Escape sequences are taken out, so nothing an agent wrote can act on your
terminal, and of a line that was written over only the last is shown. --raw
gives the bytes as they are, into a file or a pipe; on a terminal, where they
could do anything to it, only with --force.

It works without a running Rouse, and after the agent has ended. With -f it
ends when the agent does.

Examples:
  rouse logs worker-1 -n 50          the last 50 lines
  rouse logs worker-1 -f --since 10m  the last ten minutes, and what comes
  rouse logs worker-1 --json | jq -r .text`;

export const addLogs: AddCommand = (program, here) => {
  program
    .command("logs")
    .description("what an agent wrote to its terminal")
    .argument("<agent>", "id of an agent that Rouse started")
    .option("-f, --follow", "go on with what it writes from now on")
    .option("--since <when>", "only what is newer: 10m, 2h or 2026-02-05T10:30:00Z", readSince)
    .option("-n, --tail <lines>", "only so many lines of what is kept", readWhole(0, Number.MAX_SAFE_INTEGER))
    .option("-t, --timestamps", "begin each line with when it was written")
    .addOption(new Option("--raw", "the bytes as they are").conflicts(["json", "timestamps"]))
    .option("--force", "with --raw: on a terminal, too")
    .addOption(new Option("--json", "one JSON document per line: at, offset, text").conflicts("timestamps"))
    .addHelpText("after", help)
    .action(async (agentId: string, options: LogsOptions) => {
      if (options.raw && !options.force && process.stdout.isTTY) throw new Fault("bad-request", rawOnTerminal);
      await refuseUnknown(here, agentId);
      await showLogs(here, agentId, options);
    });
};

async function showLogs(here: Surroundings, agentId: string, options: LogsOptions): Promise<void> {
  if (options.follow) process.on("SIGINT", () => process.exit(interrupted));
  const files = holderFiles(here.home, agentId);
  const times = readOutputTimes(files);
  const { end, oldest } = readOutput(files, { from: null, limit: 0 }) ?? { end: 0, oldest: 0 };
  const since = options.since === undefined ? oldest : (times.offsetAt(options.since(here.now())) ?? end);
  const printer = createOutputPrinter({
    style: styleOf(options),
    from: Math.max(oldest, Math.min(since, end)),
    lines: options.tail ?? null,
    // Output that came after the times were read is printed at once, so its time is now.
    timeAt: (offset) => (offset < end ? times.timeAt(offset) : here.now()),
    write: (output) => (typeof output === "string" ? here.printText(output) : void process.stdout.write(output)),
    warn: here.warn,
  });
  await printUpTo(files, printer, end);
  if (!options.follow) printer.flush();
  if (options.tail !== undefined) printer.release();
  if (options.follow) await followOutput(here, agentId, printer, () => printUpTo(files, printer, Infinity));
}

function styleOf({ raw, json, timestamps }: LogsOptions) {
  if (raw) return "raw";
  if (json) return "json";
  return timestamps ? "timestamps" : "plain";
}

async function printUpTo(files: HolderFiles, printer: OutputPrinter, end: number): Promise<void> {
  while (printer.next() < end) {
    const piece = readOutput(files, { from: printer.next(), limit: Math.min(pieceBytes, end - printer.next()) });
    if (piece === null || piece.bytes.length === 0) return;
    printer.take(piece.from, piece.bytes);
    if (process.stdout.writableNeedDrain) await once(process.stdout, "drain");
  }
}

/** Without a daemon only agents that left a folder here are known. */
async function refuseUnknown(here: Surroundings, agentId: string): Promise<void> {
  if (listHeld(here.home).includes(agentId)) return;
  try {
    await (await connect(here)).getAgentHealth(agentId);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw notStartedHere(here.home, agentId, error);
  }
  throw new Fault(
    "not-supervised",
    `${agentId} sends heartbeats, but Rouse did not start it and has no output of it; start it with rouse run or rouse spawn`,
  );
}

function readSince(text: string): Since {
  const duration = parseDuration(text);
  if (duration !== null) return (now) => now - duration;
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) throw new InvalidArgumentError("Expected 10m, 2h or a time such as 2026-02-05T10:30:00Z.");
  return () => at;
}

const answerWithin: DurationMs = seconds(5);
/** After this time without output an unfinished line, such as a question, is shown as it stands. */
const quietMs: DurationMs = seconds(2);
/** A holder tells the end of the output and the agent's exit soon after each other, or both are in its files. */
const restWithin: DurationMs = seconds(2);

/** Prints new output until the agent ends. `catchUp` prints what the files have and was not printed yet. */
async function followOutput(
  here: Surroundings,
  agentId: string,
  printer: OutputPrinter,
  catchUp: () => Promise<void>,
): Promise<void> {
  const holder = readHolderFile(here.home, agentId);
  const connection = holder !== null && isHolderAlive(holder) ? await connectIfThere(doorOf(here.home, holder)) : null;
  const exit = connection === null ? null : await listen(connection, printer);
  await catchUp();
  printer.flush();
  here.warn(describeEnd(agentId, exit ?? readExitFile(here.home, agentId)?.exit ?? null));
}

const connectIfThere = (door: Door): Promise<HolderConnection | null> =>
  connectHolder(door, { timeoutMs: answerWithin }).catch((error: unknown) => {
    if (error instanceof Fault && error.code === "holder-gone") return null;
    throw error;
  });

/** How the agent ended, or `null` when its holder was gone before it could say. */
async function listen(connection: HolderConnection, printer: OutputPrinter): Promise<ExitStatus | null> {
  let exit: ExitStatus | null = null;
  let ended = false;
  let reader: Promise<void> | null = null;
  const quiet = setTimeout(() => printer.flush(), quietMs);
  connection.onOutput((offset, bytes) => {
    printer.take(offset, bytes);
    quiet.refresh();
    if (process.stdout.writableNeedDrain) reader ??= waitForReader(connection).finally(() => (reader = null));
  });
  connection.onMessage((message) => {
    if (message.say !== "exited" && message.say !== "end") return;
    if (message.say === "exited") exit = message.exit;
    else ended = true;
    if (ended && exit !== null) connection.close();
    else setTimeout(() => connection.close(), restWithin).unref();
  });
  connection.say({ say: "read", from: printer.next(), follow: true });
  const fault = await connection.closed;
  clearTimeout(quiet);
  if (fault !== null && exit === null) throw fault;
  return exit;
}

/** Pauses the holder's output until ours is written: an agent is quicker than most terminals. */
async function waitForReader(connection: HolderConnection): Promise<void> {
  connection.pause();
  await once(process.stdout, "drain");
  connection.resume();
}
