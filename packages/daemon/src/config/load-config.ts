import { type FileHandle, open } from "node:fs/promises";
import { openPlainFile } from "@rouse/holder";
import { type ConfigProblem, describeReadError, noSuchFile } from "./config-problem.ts";
import { largestFile, type NamedText } from "./parse-yaml.ts";
import { type ConfigReading, readConfig } from "./read-config.ts";
import { botboxFileIn, type ConfigPlaces, configFileIn } from "./shipped-config.ts";

/** Finds and reads the files, at the start and at every reload. Never throws for anything a user can cause. */
export async function loadConfig(places: ConfigPlaces): Promise<ConfigReading> {
  const named = places.configFile;
  const [file, botbox] = await Promise.all([
    readText(named ?? configFileIn(places.home), named !== undefined, (name) => open(name, "r")),
    // The owner may name a pipe for the first file. Agents can put a pipe here, and a reload would wait for ever.
    readText(botboxFileIn(places.workingFolder), false, openPlainFile),
  ]);
  const reading = readConfig({ file: file.text, botbox: botbox.text, environment: places.environment });
  const problems = [file.problem, botbox.problem].filter((problem) => problem !== null);
  if (problems.length === 0) return reading;
  return { ok: false, problems: [...problems, ...(reading.ok ? [] : reading.problems)] };
}

interface TextReading {
  readonly text: NamedText | null;
  readonly problem: ConfigProblem | null;
}

type Opens = (name: string) => Promise<FileHandle | null>;

async function readText(name: string, mustExist: boolean, opens: Opens): Promise<TextReading> {
  const refuse = (message: string): TextReading => ({ text: null, problem: { file: name, path: "", message } });
  try {
    const handle = await opens(name);
    if (handle === null) return refuse("is not a plain file");
    const bytes = await readFile(handle);
    return { text: { name, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) }, problem: null };
  } catch (error) {
    const problem = describeReadError(error);
    return problem === noSuchFile && !mustExist ? { text: null, problem: null } : refuse(problem);
  }
}

/** Reads up to one byte more than allowed, because `stat` says nothing about the size of a pipe or a device. */
async function readFile(handle: FileHandle): Promise<Uint8Array> {
  try {
    const bytes = new Uint8Array(largestFile + 1);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length, null);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await handle.close();
  }
}
