import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RestoreOutcome, Workspaces } from "../../ports/workspaces.ts";
import { contents, fingerprint, standOnGround, take, textIn, type WorkTree } from "./work-trees.test-support.ts";

const ground = standOnGround();

function restored(outcome: RestoreOutcome) {
  if (outcome.kind !== "restored") throw new Error(JSON.stringify(outcome));
  return outcome;
}

/** An agent's work: a change, a new file, a deletion, something ignored. */
function work(tree: WorkTree): void {
  tree.write(".gitignore", "*.log\n");
  tree.write("a.txt", "half done\n");
  tree.write("new/file.txt", "untracked\n");
  rmSync(join(tree.top, "deep/b.txt"));
}

describe("a snapshot restored beside", () => {
  const target = () => join(ground.root, "restored", "here");

  it("is a work tree of its own with the same files, and the first one is not touched", async () => {
    const tree = ground.repository();
    work(tree);
    const workspaces = ground.open();
    const { commit } = await take(workspaces, tree.top);
    const saved = contents(tree.top);
    tree.write("a.txt", "ruined\n");
    tree.write("some.log", "ignored\n");
    const isTheirs = (path: string): boolean => !/^\.git\/(?:objects|worktrees)(?:\/|$)/.test(path);
    const before = fingerprint(tree.top, isTheirs);
    const { folder } = restored(await workspaces.restore(commit, tree.top, target()));
    expect(folder).toBe(target());
    expect(contents(folder)).toEqual(saved);
    expect(fingerprint(tree.top, isTheirs)).toEqual(before);
    const beside = ground.at(folder);
    expect(beside.git("status", "--porcelain")).toBe("");
    expect(beside.git("rev-parse", "HEAD")).toBe(commit);
    expect(() => beside.git("symbolic-ref", "-q", "HEAD")).toThrow();
  });

  it("may fill a folder that is there and empty", async () => {
    const tree = ground.repository();
    const workspaces = ground.open();
    const { commit } = await take(workspaces, tree.top);
    mkdirSync(target(), { recursive: true });
    restored(await workspaces.restore(commit, tree.top, target()));
    expect(readFileSync(join(target(), "a.txt"), "utf8")).toBe("one\n");
  });

  it("runs no hook", async () => {
    const tree = ground.repository();
    tree.script(".git/hooks/post-checkout", `touch '${join(ground.root, "ran")}'`);
    tree.script(".git/hooks/reference-transaction", `touch '${join(ground.root, "ran")}'`);
    const workspaces = ground.open();
    const { commit } = await take(workspaces, tree.top);
    restored(await workspaces.restore(commit, tree.top, target()));
    expect(existsSync(join(ground.root, "ran"))).toBe(false);
  });

  it("is refused where something is already", async () => {
    const tree = ground.repository();
    const workspaces = ground.open();
    const { commit } = await take(workspaces, tree.top);
    ground.at(ground.root).write("full/kept.txt", "kept\n");
    for (const place of ["full", "full/kept.txt"]) {
      const outcome = await workspaces.restore(commit, tree.top, join(ground.root, place));
      expect(outcome).toMatchObject({ kind: "refused", because: "target-not-empty" });
    }
    expect(contents(join(ground.root, "full"))).toHaveProperty(["kept.txt"]);
  });

  it("is refused inside the work tree it was taken from, by whichever way", async () => {
    const tree = ground.repository();
    const workspaces = ground.open();
    const { commit } = await take(workspaces, tree.top);
    symlinkSync(tree.top, join(ground.root, "detour"));
    for (const place of [tree.top, join(tree.top, "sub"), join(ground.root, "detour", "sub")]) {
      const outcome = await workspaces.restore(commit, tree.top, place);
      expect(outcome).toMatchObject({ kind: "refused", because: "target-in-work-tree" });
    }
  });

  it("leaves nothing behind when it fails half-way", async () => {
    const tree = ground.repository();
    tree.write("new.txt", "lost\n");
    const workspaces = ground.open();
    const { commit } = await take(workspaces, tree.top);
    const blob = tree.git("rev-parse", `${commit}:new.txt`);
    rmSync(join(tree.top, ".git/objects", blob.slice(0, 2), blob.slice(2)));
    const outcome = await workspaces.restore(commit, tree.top, target());
    expect(outcome).toMatchObject({ kind: "failed", because: "git-failed", before: null });
    expect(existsSync(target())).toBe(false);
    expect(tree.git("worktree", "list").split("\n")).toHaveLength(1);
  });
});

describe("what is restored", () => {
  it("is a snapshot of this repository, and nothing else that has a name", async () => {
    const tree = ground.repository();
    const workspaces = ground.open();
    const target = join(ground.root, "restored");
    const names = [
      tree.git("rev-parse", "HEAD"),
      "HEAD",
      "--help",
      "0".repeat(40),
      tree.git("rev-parse", "HEAD:a.txt"),
    ];
    for (const name of names) {
      const outcome = await workspaces.restore(name, tree.top, target);
      expect(outcome).toMatchObject({ kind: "refused", because: "unknown-snapshot" });
    }
    expect(await workspaces.restore("0".repeat(40), ground.root, target)).toMatchObject({ because: "no-repository" });
    expect(existsSync(target)).toBe(false);
  });
});

describe("a snapshot restored in place", () => {
  async function prepare(): Promise<{ tree: WorkTree; workspaces: Workspaces; commit: string }> {
    const tree = ground.repository();
    work(tree);
    const workspaces = ground.open();
    const { commit } = await take(workspaces, tree.top, { agentId: "builder", incarnation: 4 });
    return { tree, workspaces, commit };
  }

  it("brings every file back, takes later ones away and keeps what is ignored", async () => {
    const { tree, workspaces, commit } = await prepare();
    const saved = contents(tree.top);
    tree.write("a.txt", "ruined\n");
    tree.write("later.txt", "later\n");
    tree.write("deep/b.txt", "back again\n");
    rmSync(join(tree.top, "new"), { recursive: true });
    tree.write("some.log", "ignored\n");
    restored(await workspaces.restore(commit, tree.top, "in-place"));
    const { "some.log": log, ...rest } = contents(tree.top);
    expect(log).toBeDefined();
    expect(rest).toEqual(saved);
  });

  it("saves first what was there, which can be brought back in turn", async () => {
    const { tree, workspaces, commit } = await prepare();
    tree.write("a.txt", "second thoughts\n");
    tree.write("later.txt", "later\n");
    const there = contents(tree.top);
    const { before } = restored(await workspaces.restore(commit, tree.top, "in-place"));
    expect(textIn(tree, before?.commit ?? "", "later.txt")).toBe("later");
    expect(await workspaces.list(tree.top, "builder")).toMatchObject([
      { commit: before?.commit, incarnation: 4, reason: `before ${commit.slice(0, 12)} was restored in place` },
      { commit },
    ]);
    restored(await workspaces.restore(before?.commit ?? "", tree.top, "in-place"));
    expect(contents(tree.top)).toEqual(there);
  });

  it("leaves HEAD, branch, index and files that are the same already alone, and runs no hook", async () => {
    const { tree, workspaces, commit } = await prepare();
    tree.write("same.txt", "staged\n");
    tree.git("add", "same.txt");
    const later = await take(workspaces, tree.top);
    tree.write("a.txt", "ruined\n");
    tree.script(".git/hooks/post-checkout", `touch '${join(ground.root, "ran")}'`);
    tree.script(".git/hooks/post-index-change", `touch '${join(ground.root, "ran")}'`);
    const isTheirs = (path: string): boolean =>
      !/^\.git\/(?:objects|refs\/rouse)(?:\/|$)/.test(path) && path !== "a.txt";
    const before = fingerprint(tree.top, isTheirs);
    restored(await workspaces.restore(later.commit, tree.top, "in-place"));
    expect(fingerprint(tree.top, isTheirs)).toEqual(before);
    expect(readFileSync(join(tree.top, "a.txt"), "utf8")).toBe("half done\n");
    expect(existsSync(join(ground.root, "ran"))).toBe(false);
    expect(commit).not.toBe(later.commit);
  });

  it("is refused when an ignored file would be overwritten, for no snapshot holds it", async () => {
    const { tree, workspaces, commit } = await prepare();
    tree.write(".gitignore", "*.log\nnew/\n");
    tree.write("new/file.txt", "not saved anywhere\n");
    tree.write("a.txt", "ruined\n");
    const outcome = await workspaces.restore(commit, tree.top, "in-place");
    expect(outcome).toMatchObject({ kind: "refused", because: "would-lose-work" });
    expect(outcome.kind === "refused" && outcome.problem).toContain("new/file.txt");
    expect(readFileSync(join(tree.top, "new/file.txt"), "utf8")).toBe("not saved anywhere\n");
    expect(readFileSync(join(tree.top, "a.txt"), "utf8")).toBe("ruined\n");
  });

  it.each([
    ["a folder", "new", (tree: WorkTree) => tree.write("new", "an ignored file where the folder was\n")],
    ["a file", "a.txt", (tree: WorkTree) => tree.write("a.txt/ignored.log", "in a folder where the file was\n")],
  ])("is refused when something ignored is where %s was", async (_what, path, putThere) => {
    const { tree, workspaces, commit } = await prepare();
    rmSync(join(tree.top, path), { recursive: true });
    tree.write(".gitignore", "*.log\n/new\n");
    putThere(tree);
    const there = contents(tree.top);
    const outcome = await workspaces.restore(commit, tree.top, "in-place");
    expect(outcome).toMatchObject({ kind: "refused", because: "would-lose-work" });
    expect(contents(tree.top)).toEqual(there);
  });

  it("turns a folder into a file and back, when nothing is lost by it", async () => {
    const { tree, workspaces, commit } = await prepare();
    const saved = contents(tree.top);
    rmSync(join(tree.top, "a.txt"));
    tree.write("a.txt/inside.txt", "1\n");
    rmSync(join(tree.top, "new"), { recursive: true });
    tree.write("new", "flat now\n");
    const there = contents(tree.top);
    const { before } = restored(await workspaces.restore(commit, tree.top, "in-place"));
    expect(contents(tree.top)).toEqual(saved);
    restored(await workspaces.restore(before?.commit ?? "", tree.top, "in-place"));
    expect(contents(tree.top)).toEqual(there);
  });

  it("does not take a file for changed that was only touched", async () => {
    const { tree, workspaces, commit } = await prepare();
    tree.write("a.txt", "ruined\n");
    tree.git("add", "-A");
    utimesSync(join(tree.top, "a.txt"), 1_000_000_000, 1_000_000_000);
    restored(await workspaces.restore(commit, tree.top, "in-place"));
    expect(readFileSync(join(tree.top, "a.txt"), "utf8")).toBe("half done\n");
  });

  it("is refused when what is there could not be saved", async () => {
    const { tree, workspaces, commit } = await prepare();
    rmSync(join(tree.top, "a.txt"));
    execFileSync("mkfifo", [join(tree.top, "a.txt")]);
    const outcome = await workspaces.restore(commit, tree.top, "in-place");
    expect(outcome).toMatchObject({ kind: "refused", because: "would-lose-work" });
    expect(lstatSync(join(tree.top, "a.txt")).isFIFO()).toBe(true);
  });

  it("never moves a submodule", async () => {
    const library = ground.repository("library");
    const tree = ground.repository();
    tree.git("submodule", "--quiet", "add", library.top, "sub");
    tree.git("commit", "--quiet", "-m", "with a submodule");
    tree.git("config", "--global", "submodule.recurse", "true");
    tree.git("config", "--global", "submodule.active", ".");
    const workspaces = ground.open();
    const { commit } = await take(workspaces, tree.top);
    const sub = ground.at(join(tree.top, "sub"));
    sub.git("commit", "--quiet", "--allow-empty", "-m", "moved on");
    const head = sub.git("rev-parse", "HEAD");
    restored(await workspaces.restore(commit, tree.top, "in-place"));
    expect(sub.git("rev-parse", "HEAD")).toBe(head);
  });

  it("never takes away a repository inside it", async () => {
    const { tree, workspaces, commit } = await prepare();
    const inner = ground.repository("repository/inner");
    writeFileSync(join(inner.top, "dirty.txt"), "precious\n");
    restored(await workspaces.restore(commit, tree.top, "in-place"));
    expect(readFileSync(join(inner.top, "dirty.txt"), "utf8")).toBe("precious\n");
  });
});
