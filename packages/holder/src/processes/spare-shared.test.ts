import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isStopped, readProcess } from "./read-processes.ts";
import {
  cgroupsHere,
  groupHere,
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
import { createTreeWatch } from "./watch-tree.ts";

warnOfWhatIsLeftOut("a server that several Codex use");

describe.skipIf(!onLinux)("stopping an agent that started the server of several Codex", patient, () => {
  const nursery = nurseryOfEach();
  const codex = sharedCodexOfEach(nursery);

  const settings = () => join(nursery.folder, "settings");

  async function startFirst(ending = `exec ${nursery.linger}`, group: Parameters<typeof startAgent>[1] = null) {
    const agent = startAgent(nursery.write("agent.sh", [codex.startServer, ending]), group);
    await until(codex.hasStarted, "its server");
    expect(codex.everybody()).toHaveLength(5);
    return agent.root;
  }

  const alive = () => codex.everybody().filter(isThere);

  it("spares the server, its tools and what those left behind while another uses it", async () => {
    const root = await startFirst();
    const client = await codex.startClient({ CODEX_HOME: settings() });
    expect(await stopTree(root, { graceMs: 10_000 })).toMatchObject({
      ...{ kind: "stopped", forced: false, processes: 1 },
      sharedTurn: "may-go-on",
    });
    expect(isThere(root.agent.pid)).toBe(false);
    expect(alive()).toEqual(codex.everybody());
    expect(isThere(client)).toBe(true);
    expect(await stopTree(root, { graceMs: 100 })).toEqual({ kind: "already-over" });
    expect(alive()).toEqual(codex.everybody());
  });

  it("spares them also when the rest has to be forced, and ends all of the rest", async () => {
    const root = await startFirst(["trap '' TERM", `setsid ${nursery.linger} &`, nursery.linger].join("\n"));
    await codex.startClient({ CODEX_HOME: settings() });
    const watch = createTreeWatch(root);
    await until(() => watch.look().length === 8, "all of them");
    expect(await stopTree(watch, { graceMs: 100 })).toMatchObject({ kind: "stopped", forced: true, processes: 3 });
    expect(alive()).toEqual(codex.everybody());
    for (const pid of alive()) expect(readProcess(pid)).not.toSatisfy(isStopped);
  });

  it("ends what the agent itself put into another session, also when that outlives it", async () => {
    const stubborn = nursery.write("stubborn.sh", ["trap '' TERM", "echo $$ > stubborn", nursery.linger]);
    const root = await startFirst([`setsid sh ${stubborn} &`, `exec ${nursery.linger}`].join("\n"));
    await nursery.written("stubborn");
    await codex.startClient({ CODEX_HOME: settings() });
    expect(await stopTree(root, { graceMs: 200 })).toMatchObject({ kind: "stopped", forced: true });
    expect(isThere(nursery.pidIn("stubborn"))).toBe(false);
    expect(alive()).toEqual(codex.everybody());
  });

  it("ends them when nobody else uses it", async () => {
    const root = await startFirst();
    const outcome = await stopTree(root, { graceMs: 10_000 });
    expect(outcome).toMatchObject({ kind: "stopped" });
    expect(outcome).not.toHaveProperty("sharedTurn");
    expect(nursery.leftovers()).toEqual([]);
  });

  it("ends them when the other Codex has another home, or is of the same agent", async () => {
    const root = await startFirst();
    const elsewhere = await codex.startClient({ CODEX_HOME: nursery.folder, HOME: nursery.folder });
    const own = await codex.startClient({ CODEX_HOME: settings(), ROUSE_MARK: root.mark });
    expect(await stopTree(root, { graceMs: 100 })).toMatchObject({ kind: "stopped" });
    expect(alive()).toEqual([]);
    expect([elsewhere, own].map(isThere)).toEqual([true, false]);
  });

  it("ends them once the other has ended", async () => {
    const root = await startFirst();
    const client = await codex.startClient({ CODEX_HOME: settings() });
    await stopTree(root, { graceMs: 10_000 });
    process.kill(client, "SIGKILL");
    await until(() => !isThere(client), "its end");
    expect(await stopTree(root, { graceMs: 100 })).toMatchObject({ kind: "stopped" });
    expect(alive()).toEqual([]);
  });

  it("knows the home that nobody set", async () => {
    const inHome = codex.startServer.replace(/CODEX_HOME=\S+/, `CODEX_HOME= HOME=${nursery.folder}`);
    const { root } = startAgent(nursery.write("agent.sh", [inHome, `exec ${nursery.linger}`]));
    await until(codex.hasStarted, "its server");
    await codex.startClient({ HOME: nursery.folder });
    expect(await stopTree(root, { graceMs: 10_000 })).toMatchObject({ kind: "stopped", processes: 1 });
    expect(alive()).toEqual(codex.everybody());
  });

  it("lets the server go on if somebody comes to use it after it was made to stand still", async () => {
    const root = await startFirst();
    const hunt = createHunt(createTreeWatch(root));
    for (const member of hunt.look()) hunt.send(member, "SIGSTOP");
    await until(() => alive().every((pid) => isStopped(readProcess(pid) as never)), "stillness");
    await codex.startClient({ CODEX_HOME: settings() });
    expect(hunt.look().map(({ pid }) => pid)).toEqual([root.agent.pid]);
    await until(() => !alive().some((pid) => isStopped(readProcess(pid) as never)), "all of them going on");
  });

  it.skipIf(!cgroupsHere)("spares them in a control group", async () => {
    const group = groupHere();
    const root = await startFirst(["trap '' TERM", nursery.linger].join("\n"), group);
    await codex.startClient({ CODEX_HOME: settings() });
    await until(() => group.members().length === 7, "all of them in the group");
    expect(await stopTree(root, { graceMs: 100 })).toMatchObject({ kind: "stopped", forced: true, processes: 2 });
    expect(group.members().sort()).toEqual(codex.everybody().sort());
    codex.end();
    await until(() => group.members().length === 0, "an empty group");
    group.remove();
  });
});
