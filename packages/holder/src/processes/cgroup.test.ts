import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AgentGroup, locateOwnGroup, openGroup, tierOfHost, whereGroupsGo } from "./cgroup.ts";
import { readProcess } from "./read-processes.ts";
import {
  cgroupsHere,
  groupHere,
  isThere,
  nurseryOfEach,
  onLinux,
  openNursery,
  patient,
  startBystander,
  until,
  warnOfWhatIsLeftOut,
} from "./real-processes.test-support.ts";

describe.skipIf(!cgroupsHere)("a control group", patient, () => {
  const nursery = nurseryOfEach();
  let group: AgentGroup;
  beforeEach(() => {
    group = groupHere();
  });
  afterEach(async () => {
    group.kill();
    nursery.clear();
    await until(() => group.members().length === 0, "an empty group");
    group.remove();
  });

  const ownGroup = () => readFileSync("/proc/self/cgroup", "utf8").match(/^0::(.*)$/m)?.[1] ?? "";
  const startInside = () => group.spawnInside(() => startBystander(nursery, true));

  it("holds who is started inside and their children, while we are in its other half", async () => {
    const script = nursery.write("agent.sh", [`setsid ${nursery.linger} &`, `exec ${nursery.linger}`]);
    const child = group.spawnInside(() => spawn("sh", [script], { stdio: "ignore" }));
    await until(() => group.members().length === 2, "both members");
    expect(group.members()).toContain(child.pid);
    expect(group.members()).not.toContain(process.pid);
    expect(ownGroup().endsWith(join(dirname(group.folder), "holder").split("/").slice(-3).join("/"))).toBe(true);
  });

  it("lets us out again when starting fails", () => {
    const fault = () =>
      group.spawnInside(() => {
        expect(group.members()).toEqual([process.pid]);
        throw new Error("no such command");
      });
    expect(fault).toThrow("no such command");
    expect(group.members()).toEqual([]);
  });

  it("lets us out again when somebody has swept our half away meanwhile", () => {
    const holder = join(dirname(group.folder), "holder");
    const pid = group.spawnInside(() => {
      rmdirSync(holder);
      return startBystander(nursery, true);
    });
    expect(group.members()).toEqual([pid]);
    expect(readFileSync(join(holder, "cgroup.procs"), "utf8").split("\n")).toContain(String(process.pid));
  });

  it("ends everybody in it, groups below included, and is taken away only when nobody is left", async () => {
    const pids = [startInside(), startInside()];
    const below = join(group.folder, "below");
    mkdirSync(below);
    writeFileSync(join(below, "cgroup.procs"), String(pids[1]));
    expect(group.members().sort()).toEqual(pids.sort());
    const before = ownGroup();
    group.remove();
    expect(pids.filter(isThere)).toEqual(pids);
    expect(ownGroup()).toBe(before);
    expect(group.kill()).toBe(true);
    await until(() => !pids.some(isThere), "the end of both");
    group.remove();
    expect(existsSync(dirname(group.folder))).toBe(false);
    expect(openGroup(group.folder)).toBeNull();
    group.remove();
  });

  it("never ends us", () => {
    expect(group.spawnInside(() => group.kill())).toBe(false);
  });

  it("stands still while it is frozen, and can be ended like that", async () => {
    const pid = startInside();
    const found = openGroup(group.folder);
    found?.freeze();
    await until(() => readFileSync(join(group.folder, "cgroup.events"), "utf8").includes("frozen 1"), "stillness");
    found?.thaw();
    await until(() => readFileSync(join(group.folder, "cgroup.events"), "utf8").includes("frozen 0"), "movement");
    found?.freeze();
    expect(found?.kill()).toBe(true);
    await until(() => !isThere(pid), "its end");
    found?.thaw();
  });

  it("is opened later only if it is one of ours", () => {
    expect(openGroup(group.folder)?.folder).toBe(group.folder);
    const others = [dirname(group.folder), dirname(dirname(group.folder)), "/sys/fs/cgroup", "/tmp", ""];
    expect(others.map(openGroup)).toEqual(others.map(() => null));
  });

  it("is made beside the one we are in by now, not deeper", () => {
    const place = whereGroupsGo()?.folder;
    expect(place).toBe(dirname(dirname(group.folder)));
    const second = groupHere();
    expect(dirname(dirname(second.folder))).toBe(place);
    second.remove();
  });
});

describe.skipIf(!cgroupsHere)("what killed holders left", patient, () => {
  it("is taken away by the next one, unless the agent is still there", async () => {
    const nursery = openNursery();
    // Whoever makes another leaves the first as if it were killed.
    const [empty, inhabited] = [groupHere(), groupHere()];
    const pid = inhabited.spawnInside(() => startBystander(nursery, true));
    const held = groupHere();
    const again = groupHere();
    expect([empty, inhabited, held].map(({ folder }) => existsSync(folder))).toEqual([false, true, true]);
    nursery.clear();
    await until(() => !isThere(pid) && inhabited.members().length === 0, "its end");
    for (const group of [again, held, inhabited]) group.remove();
  });
});

describe.skipIf(!onLinux)("the tier of this host", patient, () => {
  it("is tried out without moving us or leaving anything", () => {
    const before = readFileSync("/proc/self/cgroup", "utf8");
    const { tier, why, place } = tierOfHost();
    expect(why).not.toBe("");
    expect(place === null).toBe(tier === "marked");
    expect(readFileSync("/proc/self/cgroup", "utf8")).toBe(before);
    expect(readProcess(process.pid)).not.toBeNull();
  });
});

describe("our own control group", () => {
  const hybrid = [
    "30 24 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
    "31 24 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
  ].join("\n");

  it("is found in a hybrid setup, in a plain one, and in a container that sees a part", () => {
    expect(locateOwnGroup(hybrid, "4:memory:/x\n0::/\n")).toEqual({ mount: "/sys/fs/cgroup/unified", path: "/" });
    const plain = "31 24 0:27 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw";
    const path = "/user.slice/user@1000.service/app.slice/x.scope";
    expect(locateOwnGroup(plain, `0::${path}\n`)).toEqual({ mount: "/sys/fs/cgroup", path });
    const part = "31 24 0:27 /docker/ab /sys/fs/c\\040group ro - cgroup2 cgroup rw";
    expect(locateOwnGroup(part, "0::/docker/ab/c\n")).toEqual({ mount: "/sys/fs/c group", path: "/c" });
    expect(locateOwnGroup(part, "0::/docker/ab\n")).toEqual({ mount: "/sys/fs/c group", path: "/" });
  });

  it("is not found where it cannot be reached", () => {
    expect(locateOwnGroup(hybrid, "4:memory:/x\n")).toBeNull();
    expect(locateOwnGroup(hybrid, "0::/../elsewhere\n")).toBeNull();
    expect(locateOwnGroup("30 24 0:26 / /x rw - cgroup cgroup rw", "0::/\n")).toBeNull();
    expect(locateOwnGroup("31 24 0:27 /docker/ab /x rw - cgroup2 c rw", "0::/docker/abc\n")).toBeNull();
  });
});

warnOfWhatIsLeftOut("keeping agents");
