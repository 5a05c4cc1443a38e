import { type Line, openLine } from "../open-line.ts";
import { isObject } from "../read-recovery.ts";
import { parseOrNull } from "../send.ts";
import type { AgentOptions } from "./agent-api.ts";
import { type Environment, homeIn, loadFiles } from "./surroundings.ts";

const usual = "http://127.0.0.1:7433";

/** Where Rouse is and with which token to speak to it, or why nobody can say. */
export async function findRouse(options: AgentOptions, env: Environment): Promise<Line | string> {
  const said = options.url ?? env["ROUSE_URL"];
  const token = options.token ?? env["ROUSE_TOKEN"];
  const own = token === undefined ? await readHome(env) : null;
  const url = said ?? own?.url ?? usual;
  // The owner's token goes to the Rouse it is of, and to nobody else.
  const isOwn = own !== null && (url === own.url || isThisMachine(url));
  const key = token ?? (isOwn ? own.token : undefined);
  if (key === undefined)
    return `there is no token for the Rouse at ${url}: start one on this machine with \`rouse up\`, or set ROUSE_URL and ROUSE_TOKEN`;
  try {
    return openLine({ url, token: key, ...(options.fetch === undefined ? {} : { fetch: options.fetch }) });
  } catch (error) {
    return (error as Error).message;
  }
}

async function readHome(env: Environment): Promise<{ url: string | null; token: string } | null> {
  const [home, files] = [homeIn(env), await loadFiles()];
  if (home === null || files === null) return null;
  const read = (name: string) => files.readFile(`${home}/${name}`, "utf8").catch(() => "");
  const [token, daemon] = [(await read("token")).trim(), parseOrNull(await read("daemon.json"))];
  if (token === "") return null;
  return { token, url: isObject(daemon) && typeof daemon["url"] === "string" ? daemon["url"] : null };
}

const isThisMachine = (url: string): boolean =>
  URL.canParse(url) && /^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(new URL(url).hostname);
