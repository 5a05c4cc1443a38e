import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, constants, mkdirSync, openSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { days } from "@rouse/contract";
import { describe, expect, it, vi } from "vitest";
import { filesIn, fingerprint, requestFor, standOnGround, take, taken } from "./work-trees.test-support.ts";

const ground = standOnGround();
const isRoot = process.getuid?.() === 0;

describe("the same key", () => {
  it("gives the same snapshot again, whatever has happened since, also to the next monitor", async () => {
    const tree = ground.repository();
    tree.write("a.txt", "two\n");
    const request = requestFor(tree.top);
    const first = taken(await ground.open().snapshot(request));
    tree.write("a.txt", "three\n");
    const objects = tree.git("count-objects");
    expect(taken(await ground.open().snapshot(request))).toEqual(first);
    expect(tree.git("count-objects")).toBe(objects);
    expect(tree.git("for-each-ref", "--format=x", "refs/rouse")).toBe("x");
  });

  it("gives one snapshot to all who ask at once", async () => {
    const tree = ground.repository();
    const request = requestFor(tree.top);
    const workspaces = [ground.open(), ground.open()];
    const outcomes = await Promise.all([0, 1, 0, 1].map((which) => workspaces[which]?.snapshot(request)));
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
    expect(outcomes[0]).toMatchObject({ kind: "taken" });
    expect(tree.git("for-each-ref", "--format=x", "refs/rouse")).toBe("x");
  });

  it("is another one for another life or agent", async () => {
    const tree = ground.repository();
    const workspaces = ground.open();
    for (const changes of [{}, { incarnation: 2 }, { agentId: "a2" }])
      await take(workspaces, tree.top, { key: "k", ...changes });
    expect(await workspaces.list(tree.top)).toHaveLength(3);
  });
});

describe("the list", () => {
  it("tells of all snapshots in a repository or of one agent's, newest first", async () => {
    const tree = ground.repository();
    const workspaces = ground.open();
    expect(await workspaces.list(tree.top)).toEqual([]);
    const from = Date.now();
    const first = await take(workspaces, tree.top, { agentId: "a:1", reason: "first" });
    const second = await take(workspaces, tree.top, { agentId: "a:2", incarnation: 7, reason: "Rouse-Snapshot: {}" });
    const third = await take(workspaces, join(tree.top, "deep"), { agentId: "a:1", reason: "third" });
    const all = await workspaces.list(tree.top);
    expect(all.map(({ commit }) => commit)).toEqual([third, second, first].map(({ commit }) => commit));
    expect(all[1]).toEqual({
      commit: second.commit,
      ref: second.ref,
      agentId: "a:2",
      incarnation: 7,
      reason: "Rouse-Snapshot: {}",
      time: expect.any(Number),
    });
    expect(all[1]?.time).toBeGreaterThanOrEqual(from);
    expect((await workspaces.list(tree.top, "a:1")).map(({ reason }) => reason)).toEqual(["third", "first"]);
  });

  it("tells what the commits say, not what somebody put in their place", async () => {
    const tree = ground.repository();
    const workspaces = ground.open();
    const { commit } = await take(workspaces, tree.top);
    tree.git("replace", commit, "HEAD");
    expect(await workspaces.list(tree.top)).toMatchObject([{ commit, agentId: "a1" }]);
  });

  it("leaves out what somebody else put there", async () => {
    const tree = ground.repository();
    tree.git("update-ref", "refs/rouse/a1/1-odd", "HEAD");
    tree.git("update-ref", "refs/rouse/a1/1-blob", tree.git("rev-parse", "HEAD:a.txt"));
    const workspaces = ground.open();
    const { commit } = await take(workspaces, tree.top);
    expect((await workspaces.list(tree.top)).map((one) => one.commit)).toEqual([commit]);
  });

  it("is empty where there is no repository, and says so when it could not look", async () => {
    expect(await ground.open().list(ground.root)).toEqual([]);
    await expect(ground.open().list(join(ground.root, "gone"))).rejects.toMatchObject({ code: "folder-gone" });
    const tree = ground.repository();
    await expect(ground.open({ program: "/nowhere/git" }).list(tree.top)).rejects.toMatchObject({
      code: "command-not-found",
    });
  });

  it("keeps the newest twenty of an agent and does not touch those of others", async () => {
    const tree = ground.repository();
    const workspaces = ground.open();
    const other = await take(workspaces, tree.top, { agentId: "other" });
    const reasons = Array.from({ length: 22 }, (_, n) => `number ${n}`);
    for (const reason of reasons) await take(workspaces, tree.top, { reason });
    const kept = await workspaces.list(tree.top, "a1");
    expect(kept.map(({ reason }) => reason)).toEqual(reasons.slice(2).reverse());
    expect((await workspaces.list(tree.top, "other")).map(({ commit }) => commit)).toEqual([other.commit]);
  });
});

describe("nothing to save", () => {
  it("is the answer for a folder that is not under git, even where there is no git", async () => {
    const nothing = { kind: "nothing-to-save", because: "no-repository" };
    expect(await ground.open().snapshot(requestFor(ground.root))).toEqual(nothing);
    expect(await ground.open({ program: "/nowhere/git" }).snapshot(requestFor(ground.root))).toEqual(nothing);
    mkdirSync(join(ground.root, "odd/.git"), { recursive: true });
    expect(await ground.open().snapshot(requestFor(join(ground.root, "odd")))).toEqual(nothing);
  });

  it("is the answer for a repository that has no files of its own", async () => {
    const folder = join(ground.root, "bare.git");
    mkdirSync(folder);
    ground.at(folder).git("init", "--quiet", "--bare");
    expect(await ground.open().snapshot(requestFor(folder))).toMatchObject({ kind: "nothing-to-save" });
  });

  it("is not the answer for a work tree that only says it has none", async () => {
    const tree = ground.repository();
    tree.git("config", "core.bare", "true");
    const outcome = await ground.open().snapshot(requestFor(tree.top));
    expect(outcome).toMatchObject({ kind: "failed", because: "git-failed" });
  });
});

describe("a snapshot that fails says why", () => {
  it("when there is no git", async () => {
    const tree = ground.repository();
    const outcome = await ground.open({ program: "/nowhere/git" }).snapshot(requestFor(tree.top));
    expect(outcome).toEqual({
      kind: "failed",
      because: "git-missing",
      problem: "there is no program /nowhere/git to run",
    });
  });

  it("when the folder is gone, or is none", async () => {
    writeFileSync(join(ground.root, "file"), "");
    for (const name of ["gone", "file"]) {
      const outcome = await ground.open().snapshot(requestFor(join(ground.root, name)));
      expect(outcome).toMatchObject({ kind: "failed", because: "folder-gone" });
    }
  });

  it("when the way to the repository is broken", async () => {
    const tree = ground.at(join(ground.root, "broken"));
    mkdirSync(tree.top);
    tree.write(".git", "gitdir: /nowhere/at/all\n");
    const outcome = await ground.open().snapshot(requestFor(tree.top));
    expect(outcome).toMatchObject({ kind: "failed", because: "git-failed" });
    expect(outcome.kind === "failed" && outcome.problem).toContain("/nowhere/at/all");
  });

  it.skipIf(!isRoot)("when git does not trust the owner of the repository", async () => {
    const tree = ground.repository();
    chownSync(join(tree.top, ".git"), 12_345, 12_345);
    chownSync(tree.top, 12_345, 12_345);
    const outcome = await ground.open().snapshot(requestFor(tree.top));
    expect(outcome.kind === "failed" && outcome.problem).toContain("dubious ownership");
  });

  it("when its place to work is not usable", async () => {
    const tree = ground.repository();
    writeFileSync(join(ground.root, "file"), "");
    const outcome = await ground.open({ scratch: join(ground.root, "file/scratch") }).snapshot(requestFor(tree.top));
    expect(outcome).toMatchObject({ kind: "failed", because: "git-failed" });
    expect(outcome.kind === "failed" && outcome.problem).toContain("ENOTDIR");
  });

  it("when git hangs: it is ended at the deadline, nothing is left, and the next one works", async () => {
    const tree = ground.repository();
    // Git waits for a writer when it reads what is ignored.
    const pipe = join(ground.root, "pipe");
    execFileSync("mkfifo", [pipe]);
    tree.git("config", "core.excludesFile", pipe);
    const outcome = await ground.open({ deadline: 3000 }).snapshot(requestFor(tree.top));
    expect(outcome).toMatchObject({ kind: "failed", because: "took-too-long" });
    expect(() => openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)).toThrow("ENXIO");
    expect(readdirSync(ground.scratch)).toEqual([]);
    tree.git("config", "--unset", "core.excludesFile");
    await take(ground.open(), tree.top);
  });

  it("when git takes longer than this one may, and not because another could take no longer", async () => {
    const tree = ground.repository();
    const pipe = join(ground.root, "pipe");
    execFileSync("mkfifo", [pipe]);
    tree.git("config", "core.excludesFile", pipe);
    const hasty = { ...requestFor(tree.top), within: 1500.5 };
    expect(await ground.open().snapshot(hasty)).toMatchObject({ kind: "failed", because: "took-too-long" });
    tree.git("config", "--unset", "core.excludesFile");
    const patient = { ...requestFor(tree.top), within: days(30) };
    expect(await ground.open({ deadline: 1 }).snapshot(patient)).toMatchObject({ kind: "taken" });
  });

  it("when git is ended while it writes a large file: nothing of it stays in the repository, and the next one works", async () => {
    const tree = ground.repository();
    tree.git("config", "--global", "core.bigFileThreshold", "64k");
    tree.write("large.bin", randomBytes(1024 * 1024));
    const before = fingerprint(join(tree.top, ".git"));
    // Whoever writes a file of more than a quarter of a megabyte is ended by the system.
    const program = join(ground.root, "git-with-little-room");
    writeFileSync(program, '#!/bin/sh\nulimit -f 512\nexec git "$@"\n', { mode: 0o755 });
    const outcome = await ground.open({ program }).snapshot(requestFor(tree.top));
    expect(outcome).toMatchObject({ kind: "failed", because: "git-failed" });
    expect(fingerprint(join(tree.top, ".git"))).toEqual(before);
    const { commit } = await take(ground.open(), tree.top);
    expect(filesIn(tree, commit)).toContain("large.bin");
    tree.git("fsck", "--strict", commit);
  });
});

describe("the surroundings", () => {
  it("do not lead git elsewhere: no GIT_ variable of ours is passed on", async () => {
    const tree = ground.repository();
    const other = ground.repository("other");
    tree.write("new.txt", "here\n");
    const leading = {
      GIT_DIR: join(other.top, ".git"),
      GIT_WORK_TREE: other.top,
      GIT_INDEX_FILE: join(other.top, ".git/index"),
      GIT_OBJECT_DIRECTORY: join(other.top, ".git/objects"),
      GIT_COMMON_DIR: join(other.top, ".git"),
      GIT_NAMESPACE: "elsewhere",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "core.bare",
      GIT_CONFIG_VALUE_0: "true",
    };
    for (const [name, value] of Object.entries(leading)) vi.stubEnv(name, value);
    const { commit, folder } = await take(ground.open(), tree.top);
    for (const name of Object.keys(leading)) vi.stubEnv(name, undefined);
    expect(folder).toBe(tree.top);
    expect(filesIn(tree, commit)).toEqual(["a.txt", "deep/b.txt", "new.txt"]);
    expect(tree.git("for-each-ref", "refs/rouse")).not.toBe("");
    expect(other.git("for-each-ref", "refs/rouse")).toBe("");
  });

  it("are tidied: what a killed monitor left is removed, what another one works on is not", async () => {
    const tree = ground.repository();
    const abandoned = join(ground.scratch, "rouse-snapshot-old");
    const recent = join(ground.scratch, "rouse-snapshot-new");
    const theirs = join(ground.scratch, "something-else");
    for (const folder of [abandoned, recent, theirs]) mkdirSync(folder, { recursive: true });
    const yesterday = Date.now() / 1000 - 86_400;
    writeFileSync(join(abandoned, "index"), "");
    for (const folder of [abandoned, theirs]) utimesSync(folder, yesterday, yesterday);
    await take(ground.open(), tree.top);
    expect(readdirSync(ground.scratch)).toEqual(["rouse-snapshot-new", "something-else"]);
  });

  it("are tidied in the repository as well", async () => {
    const tree = ground.repository();
    const objects = join(tree.top, ".git/objects");
    const [abandoned = "", recent = ""] = ["old", "new"].map((name) => join(objects, `tmp_objdir-rouse-${name}`));
    for (const folder of [abandoned, recent]) mkdirSync(join(folder, "pack"), { recursive: true });
    utimesSync(abandoned, new Date(0), new Date(0));
    await take(ground.open(), tree.top);
    expect(readdirSync(objects).filter((name) => name.startsWith("tmp_"))).toEqual(["tmp_objdir-rouse-new"]);
  });

  it("may have objects elsewhere, wherever the path to them leads", async () => {
    ground.repository("origin");
    const tree = ground.at(join(ground.root, 'a : "clone"'));
    execFileSync("git", ["clone", "--quiet", "--shared", join(ground.root, "origin"), tree.top]);
    writeFileSync(join(tree.top, ".git/objects/info/alternates"), "../../../origin/.git/objects\n");
    tree.write("new.txt", "new\n");
    const { commit } = await take(ground.open(), tree.top);
    expect(filesIn(tree, commit)).toEqual(["a.txt", "deep/b.txt", "new.txt"]);
    tree.git("fsck", "--strict", commit);
  });
});
