import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { filesIn, fingerprint, standOnGround, take, textIn, type WorkTree } from "./work-trees.test-support.ts";

const ground = standOnGround();

const hooks =
  "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase " +
  "post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction push-to-checkout " +
  "pre-auto-gc post-rewrite fsmonitor-watchman post-index-change sendemail-validate";

/** Everything but objects and our own references. */
const isTheirs = (path: string): boolean => !/^\.git\/(?:objects|refs\/rouse)(?:\/|$)/.test(path);

/** A script that leaves a trace where no work tree is. */
function trap(tree: WorkTree, path: string, then = "cat"): string {
  const trace = join(ground.root, "ran");
  mkdirSync(trace, { recursive: true });
  tree.script(path, `echo ran >> '${join(trace, path.replaceAll("/", "_"))}'`, then);
  return join(tree.top, path);
}

const whatRan = (): string[] => {
  const trace = join(ground.root, "ran");
  return existsSync(trace) ? readdirSync(trace) : [];
};

const layHooks = (tree: WorkTree): void => {
  for (const hook of hooks.split(" ")) trap(tree, `.git/hooks/${hook}`);
};

describe("taking a snapshot", () => {
  it("leaves index, HEAD, branches, stash, reflogs, configuration and every file as they are, and runs no hook", async () => {
    const tree = ground.repository();
    tree.write("a.txt", "stashed\n");
    tree.git("stash", "--quiet");
    tree.write("a.txt", "staged\n");
    tree.git("add", "a.txt");
    tree.write("a.txt", "staged and changed again\n");
    rmSync(join(tree.top, "deep/b.txt"));
    tree.write("new.txt", "untracked\n");
    tree.write(".git/info/exclude", "*.log\n");
    tree.write("some.log", "ignored\n");
    tree.git("config", "core.logAllRefUpdates", "always");
    layHooks(tree);
    const state = () => [
      fingerprint(tree.top, isTheirs),
      tree.git("for-each-ref", "refs/heads", "refs/stash", "refs/tags"),
      tree.git("symbolic-ref", "HEAD"),
    ];
    const before = state();
    const { commit } = await take(ground.open(), tree.top);
    expect(textIn(tree, commit, "a.txt")).toBe("staged and changed again");
    expect(state()).toEqual(before);
    expect(whatRan()).toEqual([]);
    expect(tree.git("stash", "list")).toContain("stash@{0}");
    // The hooks are real: they run when the person uses git.
    tree.git("commit", "--quiet", "-m", "second");
    expect(whatRan()).toEqual(expect.arrayContaining([".git_hooks_pre-commit", ".git_hooks_reference-transaction"]));
  });

  it("runs no hook from a folder that the configuration names", async () => {
    const tree = ground.repository();
    trap(tree, "own-hooks/reference-transaction");
    tree.git("config", "core.hooksPath", join(tree.top, "own-hooks"));
    await take(ground.open(), tree.top);
    expect(whatRan()).toEqual([]);
  });
});

describe("a program that the repository's configuration names", () => {
  let tree: WorkTree;
  beforeEach(() => {
    tree = ground.repository();
  });

  it("is not run as a filter: files are held as they are on disk", async () => {
    tree.write(".gitattributes", "*.txt filter=evil\n");
    tree.write("b.txt", "new\n");
    for (const way of ["clean", "smudge", "process"])
      tree.git("config", `filter.evil.${way}`, trap(tree, `.git/evil-${way}`));
    tree.git("config", "filter.evil.required", "true");
    tree.write("a.txt", "plain\n");
    const workspaces = ground.open();
    const { commit } = await take(workspaces, tree.top);
    expect(textIn(tree, commit, "a.txt")).toBe("plain");
    const target = join(ground.root, "again");
    expect(await workspaces.restore(commit, tree.top, target)).toMatchObject({ kind: "restored" });
    expect(whatRan()).toEqual([]);
  });

  it("is not run as a filter even when the person has set it up for all repositories", async () => {
    tree.write(".gitattributes", "*.txt filter=large\n");
    for (const way of ["clean", "smudge"])
      tree.git("config", "--global", `filter.large.${way}`, trap(tree, `.git/large-${way}`));
    tree.write("a.txt", "plain\n");
    const workspaces = ground.open();
    const { commit } = await take(workspaces, tree.top);
    expect(await workspaces.restore(commit, tree.top, join(ground.root, "again"))).toMatchObject({ kind: "restored" });
    expect(whatRan()).toEqual([]);
    tree.git("add", "a.txt");
    expect(whatRan()).toEqual([".git_large-clean"]);
  });

  it("is not run to watch files, sign, page, edit or ask", async () => {
    const program = trap(tree, ".git/evil");
    for (const key of [
      "core.fsmonitor",
      "gpg.program",
      "core.pager",
      "core.editor",
      "core.askPass",
      "credential.helper",
    ])
      tree.git("config", key, program);
    tree.git("config", "commit.gpgSign", "true");
    tree.git("config", "--global", "core.fsmonitor", program);
    tree.git("config", "diff.external", program);
    tree.write("a.txt", "two\n");
    await take(ground.open(), tree.top);
    expect(whatRan()).toEqual([]);
    expect(() => tree.git("status")).not.toThrow();
    expect(whatRan()).toEqual([".git_evil"]);
  });

  it("is not run by a submodule either", async () => {
    const library = ground.repository("library");
    tree.git("submodule", "--quiet", "add", library.top, "sub");
    tree.git("commit", "--quiet", "-m", "with a submodule");
    const sub = ground.at(join(tree.top, "sub"));
    sub.write(".gitattributes", "* filter=evil\n");
    sub.write("a.txt", "changed\n");
    sub.git("config", "filter.evil.clean", trap(tree, ".git/evil"));
    await take(ground.open(), tree.top);
    expect(whatRan()).toEqual([]);
    tree.git("status");
    expect(whatRan()).toEqual([".git_evil"]);
  });

  it.each(["a file", "the last commit"])("is not run to fetch what a partial clone lacks: %s", async (lacking) => {
    const object = tree.git("rev-parse", lacking === "a file" ? "HEAD:deep/b.txt" : "HEAD");
    tree.git("sparse-checkout", "set", "--no-cone", "/*", "!/deep/b.txt");
    tree.git("config", "core.repositoryFormatVersion", "1");
    tree.git("config", "extensions.partialClone", "origin");
    tree.git("config", "remote.origin.url", "ssh://nowhere.invalid/repository");
    tree.git("config", "remote.origin.promisor", "true");
    tree.git("config", "core.sshCommand", trap(tree, ".git/evil", "exit 1"));
    rmSync(join(tree.top, ".git/objects", object.slice(0, 2), object.slice(2)));
    tree.write("deep/new.txt", "beside it\n");
    const { commit } = await take(ground.open(), tree.top);
    expect(whatRan()).toEqual([]);
    expect(filesIn(tree, commit)).toEqual(["a.txt", "deep/b.txt", "deep/new.txt"]);
    expect(() => tree.git("cat-file", "-p", object)).toThrow();
    expect(whatRan()).toEqual([".git_evil"]);
  });
});

describe("a snapshot is of nothing else", () => {
  it("than the folder that has the repository, whatever core.worktree says", async () => {
    const tree = ground.repository();
    ground.at(ground.root).write("home/secret.txt", "not the agent's\n");
    tree.git("config", "core.worktree", ground.root);
    const { commit, folder } = await take(ground.open(), tree.top);
    expect(folder).toBe(tree.top);
    expect(ground.at(tree.top).git("ls-tree", "-r", "--full-tree", "--name-only", commit)).toBe("a.txt\ndeep/b.txt");
  });

  it("than work: our own files are not part of it when they lie in its folder", async () => {
    const tree = ground.repository();
    const { commit } = await take(ground.open({ scratch: join(tree.top, "our [own] files") }), tree.top);
    expect(filesIn(tree, commit)).toEqual(["a.txt", "deep/b.txt"]);
  });
});
