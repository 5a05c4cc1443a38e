import type { Stats } from "node:fs";
import { access, constants, readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { describePlace, describeProblem } from "../../config/config-problem.ts";
import { loadConfig } from "../../config/load-config.ts";
import type { Surroundings } from "../surroundings.ts";
import { type Check, describeBytes, fail, gibibyte, mebibyte, ok, warn } from "./check.ts";

const forOthers = 0o077;

/** Checks that the data folder exists, belongs to the user alone, can be written and has room. */
export async function checkHome(home: string): Promise<Check[]> {
  const found = await statIfThere(home);
  if (found === null)
    return [ok("data folder", `${home} is not there yet; \`rouse up\` makes it`), await checkSpace(home)];
  return [await checkFolder(home, found), await checkSpace(home), await checkStore(home), await checkToken(home)];
}

async function checkFolder(home: string, found: Stats): Promise<Check> {
  const name = "data folder";
  if (!found.isDirectory())
    return fail(name, `${home} is not a folder`, "move it aside or set ROUSE_HOME to another place");
  const user = process.getuid?.();
  if (user !== undefined && found.uid !== user) {
    const advice = "run as its owner, or set ROUSE_HOME to a folder of yours";
    return fail(name, `${home} belongs to user ${found.uid}, not to you (${user})`, advice);
  }
  const writable = await access(home, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!writable) return fail(name, `${home} cannot be written`, `chmod 700 ${home}`);
  if ((found.mode & forOthers) !== 0) {
    const advice = `chmod 700 ${home}; \`rouse up\` does it too`;
    return warn(name, `${home} is open to others (mode ${modeOf(found)})`, advice);
  }
  return ok(name, home);
}

async function checkSpace(home: string): Promise<Check> {
  const name = "disk";
  const { bavail, bsize } = await statfs(await nearestThere(home));
  const free = bavail * bsize;
  const text = `${describeBytes(free)} free`;
  const advice = "make room, or set ROUSE_HOME to another disk";
  if (free < 100 * mebibyte) return fail(name, text, advice);
  return free < gibibyte ? warn(name, text, advice) : ok(name, text);
}

async function checkStore(home: string): Promise<Check> {
  const name = "store";
  const files = (await readdir(home).catch(() => [])).filter((file) => file.startsWith("rouse.db"));
  const sizes = await Promise.all(files.map(async (file) => (await statIfThere(join(home, file)))?.size ?? 0));
  if (files.length === 0) return ok(name, "nothing kept yet");
  return ok(name, describeBytes(sizes.reduce((sum, size) => sum + size, 0)));
}

async function checkToken(home: string): Promise<Check> {
  const name = "token";
  const file = join(home, "token");
  const found = await statIfThere(file);
  if (found === null) return ok(name, "not there yet; `rouse up` makes it");
  if ((found.mode & forOthers) !== 0) {
    const advice = `rouse token rotate; or, if certainly nobody has read it: chmod 600 ${file}`;
    return fail(name, `others may read ${file} (mode ${modeOf(found)})`, advice);
  }
  if (found.size === 0) return fail(name, `${file} is empty`, "remove it; `rouse up` makes a new one");
  return ok(name, "only you can read it");
}

const modeOf = (found: Stats): string => (found.mode & 0o777).toString(8);

async function statIfThere(path: string): Promise<Stats | null> {
  return stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "EACCES") return null;
    throw error;
  });
}

async function nearestThere(path: string): Promise<string> {
  return (await statIfThere(path)) === null ? nearestThere(join(path, "..")) : path;
}

export async function checkConfig(here: Surroundings): Promise<Check[]> {
  const name = "config";
  const reading = await loadConfig(here);
  if (!reading.ok)
    return reading.problems.map((problem) =>
      fail(name, describeProblem(problem), "correct it; `rouse config check` shows whether it is right"),
    );
  const { sources, notices } = reading.config;
  return [
    ok(name, `valid, from ${sources.join(", ")}`),
    ...notices.map((notice) =>
      warn(name, `${describePlace(notice)}: ${notice.message}`, "keep it for later, or remove it"),
    ),
  ];
}
