import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesIn, standOnGround, take, textIn, type WorkTree } from "./work-trees.test-support.ts";

const ground = standOnGround();

/** Two branches that changed the same line. */
function diverge(tree: WorkTree): void {
  tree.git("checkout", "--quiet", "-b", "other");
  tree.write("a.txt", "theirs\n");
  tree.git("commit", "--quiet", "-am", "theirs");
  tree.git("checkout", "--quiet", "main");
  tree.write("a.txt", "ours\n");
  tree.git("commit", "--quiet", "-am", "ours");
}

describe("a snapshot", () => {
  it("holds changed, new, renamed and deleted files on top of HEAD, but not what is ignored", async () => {
    const tree = ground.repository();
    tree.write(".gitignore", "*.log\n");
    tree.write("a.txt", "two\n");
    tree.write("new/file.txt", "untracked\n");
    tree.write("noise.log", "ignored\n");
    rmSync(join(tree.top, "deep/b.txt"));
    symlinkSync("a.txt", join(tree.top, "link"));
    tree.script("run.sh", "true");
    const { commit, ref, folder, changed, leftOutCount } = await take(ground.open(), tree.top);
    expect(filesIn(tree, commit)).toEqual([".gitignore", "a.txt", "link", "new/file.txt", "run.sh"]);
    expect(textIn(tree, commit, "a.txt")).toBe("two");
    expect(tree.git("ls-tree", commit, "link", "run.sh").match(/^\d+/gm)).toEqual(["120000", "100755"]);
    expect(tree.git("rev-parse", `${commit}^`)).toBe(tree.git("rev-parse", "HEAD"));
    expect(tree.git("rev-parse", ref)).toBe(commit);
    expect(ref).toMatch(/^refs\/rouse\/a1\/1-[0-9a-f]{16}$/);
    expect({ folder, changed, leftOutCount }).toEqual({ folder: tree.top, changed: 6, leftOutCount: 0 });
  });

  it("is made by us, in the name of nobody who uses this machine, and says why", async () => {
    const tree = ground.repository();
    tree.git("config", "--global", "i18n.commitEncoding", "ISO-8859-1");
    const workspaces = ground.open();
    const reason = "it hangs\nfor ages: hängt";
    const { commit } = await take(workspaces, tree.top, { agentId: "builder", incarnation: 3, reason });
    expect(tree.git("log", "-1", "--format=%an <%ae> %cn|%s", commit)).toBe(
      "Rouse <rouse@localhost> Rouse|Snapshot of builder, life 3",
    );
    expect(tree.git("log", "-1", "--encoding=UTF-8", "--format=%b", commit)).toContain("it hangs for ages: hängt\n");
    expect((await workspaces.list(tree.top))[0]?.reason).toBe("it hangs for ages: hängt");
  });

  it("is of the whole work tree, from whichever folder inside it", async () => {
    const tree = ground.repository();
    tree.write("c.txt", "untracked\n");
    const { commit, folder } = await take(ground.open(), join(tree.top, "deep"));
    expect(folder).toBe(tree.top);
    expect(filesIn(tree, commit)).toEqual(["a.txt", "c.txt", "deep/b.txt"]);
  });

  it("survives a garbage collection that keeps nothing unused", async () => {
    const tree = ground.repository();
    tree.write("new.txt", "precious\n");
    const { commit } = await take(ground.open(), tree.top);
    rmSync(join(tree.top, "new.txt"));
    tree.git("gc", "--quiet", "--prune=now");
    expect(textIn(tree, commit, "new.txt")).toBe("precious");
  });

  it("holds a folder where a file was, and a file where a folder was", async () => {
    const tree = ground.repository();
    rmSync(join(tree.top, "a.txt"));
    tree.write("a.txt/inside.txt", "1\n");
    rmSync(join(tree.top, "deep"), { recursive: true });
    tree.write("deep", "flat now\n");
    const { commit, leftOutCount } = await take(ground.open(), tree.top);
    expect(filesIn(tree, commit)).toEqual(["a.txt/inside.txt", "deep"]);
    expect(leftOutCount).toBe(0);
  });

  it("holds files that were only announced, and modes that alone changed", async () => {
    const tree = ground.repository();
    tree.write("announced.txt", "content\n");
    tree.git("add", "--intent-to-add", "announced.txt");
    chmodSync(join(tree.top, "a.txt"), 0o755);
    const { commit } = await take(ground.open(), tree.top);
    expect(textIn(tree, commit, "announced.txt")).toBe("content");
    expect(tree.git("ls-tree", commit, "a.txt")).toMatch(/^100755/);
  });

  it("differs from HEAD in nothing when nothing changed", async () => {
    const tree = ground.repository();
    const { commit, changed } = await take(ground.open(), tree.top);
    expect(changed).toBe(0);
    expect(tree.git("rev-parse", `${commit}^{tree}`)).toBe(tree.git("rev-parse", "HEAD^{tree}"));
  });

  it("leaves nothing where it worked", async () => {
    const tree = ground.repository();
    await take(ground.open(), tree.top);
    expect(readdirSync(ground.scratch)).toEqual([]);
  });
});

describe("a snapshot is taken", () => {
  it("in the middle of a merge with conflicts, marks and all", async () => {
    const tree = ground.repository();
    diverge(tree);
    expect(() => tree.git("merge", "other")).toThrow();
    const { commit } = await take(ground.open(), tree.top);
    expect(textIn(tree, commit, "a.txt")).toMatch(/^<<<<<<< .*ours\n=======\ntheirs\n>>>>>>> /s);
    expect(tree.git("status", "--porcelain")).toBe("UU a.txt");
    expect(existsSync(join(tree.top, ".git/MERGE_HEAD"))).toBe(true);
  });

  it("in the middle of a rebase, which can go on afterwards", async () => {
    const tree = ground.repository();
    diverge(tree);
    expect(() => tree.git("rebase", "other")).toThrow();
    const { commit } = await take(ground.open(), tree.top);
    expect(textIn(tree, commit, "a.txt")).toContain("=======");
    tree.write("a.txt", "both\n");
    tree.git("add", "a.txt");
    tree.git("rebase", "--continue");
    expect(tree.git("log", "--format=%s", "main")).toBe("ours\ntheirs\nfirst");
  });

  it("with our side of a conflict whose file is no longer one", async () => {
    const tree = ground.repository();
    diverge(tree);
    expect(() => tree.git("merge", "other")).toThrow();
    rmSync(join(tree.top, "a.txt"));
    execFileSync("mkfifo", [join(tree.top, "a.txt")]);
    const { commit, leftOut } = await take(ground.open(), tree.top);
    expect(textIn(tree, commit, "a.txt")).toBe("ours");
    expect(leftOut).toEqual([{ path: "a.txt", because: "unreadable" }]);
  });

  it("on no branch", async () => {
    const tree = ground.repository();
    tree.git("checkout", "--quiet", "--detach");
    tree.write("a.txt", "two\n");
    const { commit } = await take(ground.open(), tree.top);
    expect(tree.git("rev-parse", `${commit}^`)).toBe(tree.git("rev-parse", "HEAD"));
  });

  it("before the first commit, without a parent", async () => {
    const tree = ground.at(join(ground.root, "unborn"));
    mkdirSync(tree.top);
    tree.git("init", "--quiet");
    tree.write("staged.txt", "1\n");
    tree.git("add", "staged.txt");
    tree.write("new.txt", "1\n");
    const { commit, changed } = await take(ground.open(), tree.top);
    expect(filesIn(tree, commit)).toEqual(["new.txt", "staged.txt"]);
    expect(tree.git("log", "--format=%P.", commit)).toBe(".");
    expect(changed).toBe(2);
    expect(() => tree.git("rev-parse", "--verify", "HEAD")).toThrow();
  });

  it("of an empty folder with a repository that never had anything", async () => {
    const tree = ground.at(join(ground.root, "empty"));
    mkdirSync(tree.top);
    tree.git("init", "--quiet");
    const { commit, changed } = await take(ground.open(), tree.top);
    expect(filesIn(tree, commit)).toEqual([]);
    expect(changed).toBe(0);
  });

  it("of a linked work tree, whose .git is a file, and can be found from the main one", async () => {
    const main = ground.repository();
    main.git("worktree", "add", "--quiet", "-b", "side", join(ground.root, "linked"));
    const linked = ground.at(join(ground.root, "linked"));
    linked.write("here.txt", "only here\n");
    const workspaces = ground.open();
    const { commit, folder } = await take(workspaces, linked.top);
    expect(folder).toBe(linked.top);
    expect(textIn(main, commit, "here.txt")).toBe("only here");
    expect((await workspaces.list(main.top)).map((one) => one.commit)).toEqual([commit]);
  });

  it("while somebody else's git holds the index", async () => {
    const tree = ground.repository();
    tree.write("a.txt", "two\n");
    closeSync(openSync(join(tree.top, ".git/index.lock"), "wx"));
    const { commit } = await take(ground.open(), tree.top);
    expect(textIn(tree, commit, "a.txt")).toBe("two");
    expect(existsSync(join(tree.top, ".git/index.lock"))).toBe(true);
  });

  it.each(["damaged", "missing", "a pipe"])("when the index is %s, by what the last commit tracks", async (trouble) => {
    const tree = ground.repository();
    tree.write(".gitignore", "*.txt\n");
    tree.write("a.txt", "two\n");
    tree.write("ignored.txt", "no\n");
    const index = join(tree.top, ".git/index");
    rmSync(index);
    if (trouble === "damaged") writeFileSync(index, "not an index");
    if (trouble === "a pipe") execFileSync("mkfifo", [index]);
    const { commit } = await take(ground.open(), tree.top);
    rmSync(index, { force: true });
    expect(filesIn(tree, commit)).toEqual([".gitignore", "a.txt", "deep/b.txt"]);
    expect(textIn(tree, commit, "a.txt")).toBe("two");
  });

  it("of a repository that names its objects by SHA-256", async () => {
    const tree = ground.at(join(ground.root, "modern"));
    mkdirSync(tree.top);
    tree.git("init", "--quiet", "--object-format=sha256");
    tree.write("a.txt", "one\n");
    const workspaces = ground.open();
    const first = await take(workspaces, tree.top);
    expect(first.commit).toMatch(/^[0-9a-f]{64}$/);
    expect(first.changed).toBe(1);
    expect(await workspaces.restore(first.commit, tree.top, join(ground.root, "again"))).toMatchObject({
      kind: "restored",
    });
  });

  it("of a repository that a group shares: whoever else is in it can write beside what is new", async () => {
    // What belongs to nobody else is what git makes by itself here.
    const program = join(ground.root, "private-git");
    writeFileSync(program, '#!/bin/sh\numask 077\nexec git "$@"\n', { mode: 0o755 });
    const modesIn = (tree: WorkTree) => {
      const objects = join(tree.top, ".git/objects");
      const shelves = readdirSync(objects).filter((name) => /^[0-9a-f]{2}$/.test(name));
      const modeOf = (...path: string[]) => statSync(join(objects, ...path)).mode & 0o777;
      return new Map(
        shelves.map((shelf) => [
          shelf,
          [modeOf(shelf), ...readdirSync(join(objects, shelf)).map((n) => modeOf(shelf, n))],
        ]),
      );
    };
    const takeNew = async (tree: WorkTree) => {
      const before = modesIn(tree);
      tree.write("new.txt", "new\n");
      await take(ground.open({ program }), tree.top);
      const added = [...modesIn(tree)].filter(([shelf]) => !before.has(shelf)).map(([, modes]) => modes);
      return { added, shelves: added.map(([shelf = 0]) => shelf), objects: added.flatMap(([, ...objects]) => objects) };
    };
    const shared = ground.repository("shared");
    shared.git("init", "--quiet", "--shared=group");
    const { shelves, objects } = await takeNew(shared);
    expect(new Set(shelves)).toEqual(new Set([0o770]));
    expect(new Set(objects)).toEqual(new Set([0o440]));
    const own = await takeNew(ground.repository("own"));
    expect(new Set(own.added.flat())).toEqual(new Set([0o700, 0o400]));
  });

  it("of a split index, without writing a shared part beside it", async () => {
    const tree = ground.repository();
    tree.write(".gitignore", "*.log\n");
    tree.write("tracked.log", "ignored, but added\n");
    tree.git("add", "--force", "tracked.log");
    tree.git("config", "core.splitIndex", "true");
    tree.git("update-index", "--split-index");
    tree.write("a.txt", "two\n");
    tree.git("add", "a.txt");
    tree.write("deep/b.txt", "two\n");
    const before = readdirSync(join(tree.top, ".git")).sort();
    const { commit } = await take(ground.open(), tree.top);
    expect(filesIn(tree, commit)).toEqual([".gitignore", "a.txt", "deep/b.txt", "tracked.log"]);
    expect([textIn(tree, commit, "a.txt"), textIn(tree, commit, "deep/b.txt")]).toEqual(["two", "two"]);
    expect(readdirSync(join(tree.top, ".git")).sort()).toEqual(before);
  });

  it("of a sparse checkout: what is not there is not missing, and what was put there anyway is held", async () => {
    const tree = ground.repository();
    tree.write("deep/c.txt", "one\n");
    tree.write("kept/d.txt", "one\n");
    tree.git("add", "-A");
    tree.git("commit", "--quiet", "-m", "more");
    tree.git("sparse-checkout", "set", "--cone", "--sparse-index", "kept");
    expect(existsSync(join(tree.top, "deep"))).toBe(false);
    tree.write("deep/b.txt", "written all the same\n");
    tree.write("elsewhere/new.txt", "untracked\n");
    const { commit, changed } = await take(ground.open(), tree.top);
    expect(filesIn(tree, commit)).toEqual(["a.txt", "deep/b.txt", "deep/c.txt", "elsewhere/new.txt", "kept/d.txt"]);
    expect(textIn(tree, commit, "deep/b.txt")).toBe("written all the same");
    expect(changed).toBe(2);
  });

  it.each(["--assume-unchanged", "--skip-worktree"])(
    "with files that git was told not to look at (%s)",
    async (mark) => {
      const tree = ground.repository();
      tree.git("update-index", mark, "a.txt");
      tree.write("a.txt", "changed unseen\n");
      const { commit } = await take(ground.open(), tree.top);
      expect(textIn(tree, commit, "a.txt")).toBe("changed unseen");
    },
  );

  it("with a change that left size and time of a file as they were", async () => {
    const tree = ground.repository();
    tree.git("config", "core.trustctime", "false");
    const time = Math.floor(statSync(join(tree.top, ".git/index")).mtimeMs / 1000);
    utimesSync(join(tree.top, "a.txt"), time, time);
    tree.git("update-index", "--refresh");
    utimesSync(join(tree.top, ".git/index"), time, time);
    writeFileSync(join(tree.top, "a.txt"), "TWO\n");
    utimesSync(join(tree.top, "a.txt"), time, time);
    const { commit } = await take(ground.open(), tree.top);
    expect(textIn(tree, commit, "a.txt")).toBe("TWO");
  });

  it("from a work tree that is written to all the while", async () => {
    const tree = ground.repository();
    const log = join(tree.top, "growing.txt");
    let rounds = 0;
    const writing = setInterval(() => {
      appendFileSync(log, `${"x".repeat(1000)}\n`);
      if (rounds++ % 2 === 0) tree.write(`passing/${rounds}.txt`, "here\n");
      else rmSync(join(tree.top, "passing"), { recursive: true, force: true });
    }, 1);
    const workspaces = ground.open();
    try {
      for (let round = 0; round < 10; round++) {
        const { commit } = await take(workspaces, tree.top);
        expect(tree.git("cat-file", "-t", `${commit}^{tree}`)).toBe("tree");
      }
    } finally {
      clearInterval(writing);
    }
    expect(rounds).toBeGreaterThan(10);
    tree.git("fsck", "--no-dangling");
  });
});
