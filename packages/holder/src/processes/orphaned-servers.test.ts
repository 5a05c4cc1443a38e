import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isStopped, readProcess, type TreeRoot } from "./read-processes.ts";
import {
  isThere,
  nurseryOfEach,
  onLinux,
  patient,
  startAgent,
  until,
  warnOfWhatIsLeftOut,
} from "./real-processes.test-support.ts";
import { sharedCodexOfEach } from "./shared-codex.test-support.ts";
import { createHunt, stopTree } from "./stop-tree.ts";
import { createTreeWatch, type TreeWatch } from "./watch-tree.ts";

warnOfWhatIsLeftOut("a server of Codex whose agent is over");

// A Codex of another test that is just being started has no home yet: it may be a user of this server, which is then
// rightly spared.
const besideOthers = { ...patient, retry: 3 };

describe.skipIf(!onLinux)("stopping the last agent that uses a server of Codex", besideOthers, () => {
  const nursery = nurseryOfEach();
  const codex = sharedCodexOfEach(nursery);

  const settings = () => join(nursery.folder, "settings");
  const alive = () => codex.everybody().filter(isThere);
  const parentless = () => alive().filter((pid) => (readProcess(pid)?.ppid ?? 0) === 1 && !isServer(pid));
  const isServer = (pid: number) => readProcess(pid)?.name === "codex";

  async function startServer(options = {}): Promise<TreeRoot> {
    const { root } = startAgent(
      nursery.write("first.sh", [codex.startServer, `exec ${nursery.linger}`]),
      null,
      options,
    );
    await until(codex.hasStarted, "its server");
    return root;
  }

  /** One that runs Codex with the same home, and has been looked at. */
  async function startLast(home = settings()): Promise<TreeWatch> {
    const script = nursery.write("last.sh", [
      `cd ${nursery.folder}; export CODEX_HOME=${home}`,
      `${nursery.linger} | ${join(nursery.folder, "codex")} resume`,
    ]);
    const watch = createTreeWatch(startAgent(script).root);
    await until(() => watch.look().some(({ name }) => name === "codex"), "its Codex");
    return watch;
  }

  it("ends it when the agent that started it is over, but not what has lost its parent", async () => {
    const first = await startServer();
    const last = await startLast();
    await stopTree(first, { graceMs: 10_000 });
    expect(alive()).toEqual(codex.everybody());
    const left = parentless();
    expect(left).toHaveLength(1);
    expect(await stopTree(last, { graceMs: 200 })).toMatchObject({ kind: "stopped" });
    expect(alive()).toEqual(left);
  });

  it("leaves it to the agent that started it", async () => {
    await startServer();
    const last = await startLast();
    await stopTree(last, { graceMs: 10_000 });
    expect(isThere(last.root().agent.pid)).toBe(false);
    expect(alive()).toEqual(codex.everybody());
  });

  it("leaves it to whoever else uses it", async () => {
    const first = await startServer();
    await codex.startClient({ CODEX_HOME: settings() });
    const last = await startLast();
    await stopTree(first, { graceMs: 10_000 });
    await stopTree(last, { graceMs: 10_000 });
    expect(alive()).toEqual(codex.everybody());
  });

  it("lets it go on if somebody comes to use it after it was made to stand still", async () => {
    const first = await startServer();
    const last = await startLast();
    await stopTree(first, { graceMs: 10_000 });
    const hunt = createHunt(last);
    for (const member of hunt.look()) hunt.send(member, "SIGSTOP");
    const stands = () => alive().filter((pid) => isStopped(readProcess(pid) as never));
    await until(() => stands().length === 4, "stillness");
    await codex.startClient({ CODEX_HOME: settings() });
    hunt.look();
    await until(() => stands().length === 0, "all of them going on");
  });

  it("leaves one alone that nobody under Rouse started", async () => {
    const { ROUSE_MARK: _, ...env } = process.env;
    const first = await startServer({ env });
    const last = await startLast();
    process.kill(first.agent.pid, "SIGKILL");
    await until(() => !isThere(first.agent.pid), "its end");
    await stopTree(last, { graceMs: 10_000 });
    expect(alive()).toEqual(codex.everybody());
  });

  it("leaves one alone that has another home", async () => {
    const first = await startServer();
    const user = await codex.startClient({ CODEX_HOME: settings() });
    const last = await startLast(nursery.folder);
    await stopTree(first, { graceMs: 10_000 });
    process.kill(user, "SIGKILL");
    await until(() => !isThere(user), "the end of the other");
    await stopTree(last, { graceMs: 10_000 });
    expect(alive()).toEqual(codex.everybody());
  });
});
