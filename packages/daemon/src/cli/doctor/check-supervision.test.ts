import { writeFileSync } from "node:fs";
import { isSupported, readSecret, storeFile } from "@rouse/holder";
import { afterEach, describe, expect, it } from "vitest";
import type { World } from "../../../../holder/src/holding.test-support.ts";
import { worldOfEach } from "../../../../holder/src/world-of-each.test-support.ts";
import { checkHolders, checkSupervision, checkTerminals, judgeTier, unsupported } from "./check-supervision.ts";

describe("doctor says", () => {
  it("in which tier this host is, and that agents can have terminals", async () => {
    const checks = await checkSupervision();
    expect(checks.map(({ name }) => name)).toEqual(isSupported() ? ["process trees", "terminals"] : ["process trees"]);
    expect(checks[0]?.text).toMatch(/cgroup tier|marked tier|do not work on/);
    expect(checks.map(({ verdict }) => verdict)).not.toContain("fail");
  });

  it("what can escape without control groups, why there are none and how to get them", () => {
    const sure = judgeTier({ tier: "cgroup", why: "groups can be made", place: "/sys/fs/cgroup/rouse-agents" });
    expect(sure).toMatchObject({ verdict: "ok", text: expect.stringContaining("/sys/fs/cgroup/rouse-agents") });
    expect(sure.text).toContain("unless one left it on purpose");
    const unsure = judgeTier({ tier: "marked", why: "not mounted", place: null });
    expect(unsure).toMatchObject({
      verdict: "warn",
      text: expect.stringMatching(/can outlive its stop \(not mounted\)/),
    });
    expect(unsure.advice).toContain("Delegate=yes");
  });

  it("that agents cannot be started on other systems yet", () => {
    expect(unsupported("darwin")).toMatchObject({ verdict: "warn", text: expect.stringContaining("darwin") });
  });

  it("when the terminal library is missing or was built for another machine", async () => {
    const broken = await checkTerminals(() => import("./there-is-no-such-file.ts" as string));
    expect(broken).toMatchObject({ verdict: "fail", text: expect.stringContaining("cannot be loaded") });
  });
});

describe("of those who are held, doctor says", () => {
  let world: World;
  worldOfEach((fresh) => {
    world = fresh;
  });
  afterEach(() => world.remove());

  const start = (agentId: string, store: string) => world.start(world.spec(["sleep", "1000"], { agentId, store }));
  const monitorIs = (store: string, epoch: number) =>
    writeFileSync(storeFile(world.home), JSON.stringify({ store, epoch }));

  it("that there are none, and that all would listen to the last monitor", async () => {
    expect(await checkHolders(world.home)).toMatchObject([{ verdict: "ok", text: "none" }]);
    await start("a1", "ours");
    monitorIs("ours", 1);
    expect(await checkHolders(world.home)).toMatchObject([{ verdict: "ok", text: "1, all reachable" }]);
  });

  it("who refuses the last monitor, why, and what to type", async () => {
    await start("a1", "another");
    await start("a2", "another");
    await start("a3", "ours");
    const newer = await world.stranger(await start("a4", "ours"));
    const secret = readSecret(world.files("a4").secret);
    newer.say({ say: "hello", secret, monitor: { store: "ours", epoch: 5 } });
    await newer.hear("welcome");
    writeFileSync(world.files("a3").secret, "wrong");
    monitorIs("ours", 4);
    const checks = await checkHolders(world.home);
    expect(checks.map(({ verdict }) => verdict)).toEqual(["fail", "fail", "fail"]);
    const about = (agents: string) => checks.find(({ text }) => text.startsWith(`${agents}:`));
    expect(about("a1, a2")?.text).toContain("another database");
    expect(about("a1, a2")?.advice).toContain("`rouse adopt a1 a2`");
    expect(about("a3")?.text).toContain("secret");
    expect(about("a4")).toMatchObject({
      text: expect.stringContaining("newer monitor"),
      advice: expect.stringContaining("`rouse adopt a4`"),
    });
  });
});
