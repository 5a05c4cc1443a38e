import { once } from "node:events";
import { type DurationMs, type ExitStatus, Fault, seconds } from "@rouse/contract";
import { connectHolder, type Door, type HolderConnection } from "../../../holders/connect-holder.ts";
import { doorOf, isHolderAlive, readExitFile, readHolderFile } from "../../../holders/read-holder-files.ts";
import { describeEnd, type OutputPrinter } from "../../show/print-output.ts";
import type { Surroundings } from "../../surroundings.ts";

const answerWithin: DurationMs = seconds(5);
/** A line that is not ended by then, a question for instance, is shown as it stands. */
const quietMs: DurationMs = seconds(2);
/** A holder says that the output has ended and how the agent did, one soon after the other; what it cannot say any more is in the files. */
const restWithin: DurationMs = seconds(2);

/** Prints what comes until the agent ends. `catchUp` prints what is in the files and has not been printed. */
export async function followOutput(
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

async function connectIfThere(door: Door): Promise<HolderConnection | null> {
  try {
    return await connectHolder(door, { timeoutMs: answerWithin });
  } catch (error) {
    if (error instanceof Fault && error.code === "holder-gone") return null;
    throw error;
  }
}

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

/** An agent is quicker than most terminals. */
async function waitForReader(connection: HolderConnection): Promise<void> {
  connection.pause();
  await once(process.stdout, "drain");
  connection.resume();
}
