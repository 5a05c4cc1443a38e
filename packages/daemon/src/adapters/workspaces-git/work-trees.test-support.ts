import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, vi } from "vitest";
import type { Snapshot, SnapshotOutcome, SnapshotRequest, Workspaces } from "../../ports/workspaces.ts";
import { type GitWorkspacesOptions, openGitWorkspaces } from "./open-git-workspaces.ts";

/** A folder that is taken away after the test, with a home in which nobody has told git who they are. */
export interface Ground {
  readonly root: string;
  readonly scratch: string;
  open(options?: GitWorkspacesOptions): Workspaces;
  /** A repository with one commit of a.txt and deep/b.txt. */
  repository(name?: string): WorkTree;
  at(folder: string): WorkTree;
}

export interface WorkTree {
  readonly top: string;
  git(...args: string[]): string;
  write(path: string, text: string | Buffer): void;
  script(path: string, ...lines: string[]): void;
}

const person = {
  GIT_AUTHOR_NAME: "A Person",
  GIT_AUTHOR_EMAIL: "person@example.org",
  GIT_COMMITTER_NAME: "A Person",
  GIT_COMMITTER_EMAIL: "person@example.org",
};

export function standOnGround(): Ground {
  const ground = { root: "", scratch: "" };
  beforeEach(() => {
    ground.root = realpathSync(mkdtempSync(join(tmpdir(), "rouse-work-tree-")));
    ground.scratch = join(ground.root, "scratch");
    mkdirSync(join(ground.root, "home"));
    vi.stubEnv("HOME", join(ground.root, "home"));
    vi.stubEnv("XDG_CONFIG_HOME", join(ground.root, "home"));
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(ground.root, { recursive: true, force: true });
  });
  return Object.assign(ground, {
    open: (options: GitWorkspacesOptions = {}) => openGitWorkspaces({ scratch: ground.scratch, ...options }),
    at: treeAt,
    repository(name = "repository") {
      const tree = treeAt(join(ground.root, name));
      mkdirSync(tree.top);
      tree.git("init", "--quiet", "--initial-branch=main");
      tree.write("a.txt", "one\n");
      tree.write("deep/b.txt", "one\n");
      tree.git("add", "-A");
      tree.git("commit", "--quiet", "-m", "first");
      return tree;
    },
  });
}

function treeAt(top: string): WorkTree {
  const write = (path: string, text: string | Buffer): void => {
    mkdirSync(dirname(join(top, path)), { recursive: true });
    writeFileSync(join(top, path), text);
  };
  return {
    top,
    write,
    git: (...args) =>
      execFileSync("git", ["-c", "protocol.file.allow=always", "-c", "core.editor=true", ...args], {
        cwd: top,
        env: { ...process.env, ...person },
        encoding: "utf8",
        timeout: 50_000,
        stdio: ["ignore", "pipe", "pipe"],
      }).trimEnd(),
    script(path, ...lines) {
      write(path, ["#!/bin/sh", ...lines, ""].join("\n"));
      chmodSync(join(top, path), 0o755);
    },
  };
}

let keys = 0;

export const requestFor = (folder: string, changes: Partial<SnapshotRequest> = {}): SnapshotRequest => ({
  agentId: "a1",
  incarnation: 1,
  key: `key-${++keys}`,
  folder,
  reason: "before it is stopped",
  ...changes,
});

/** Takes one that has to succeed. */
export async function take(workspaces: Workspaces, folder: string, changes: Partial<SnapshotRequest> = {}) {
  return taken(await workspaces.snapshot(requestFor(folder, changes)));
}

export function taken(outcome: SnapshotOutcome): Snapshot {
  if (outcome.kind !== "taken") throw new Error(JSON.stringify(outcome));
  return outcome.snapshot;
}

/** The names of all files in a commit. */
export const filesIn = (tree: WorkTree, commit: string): string[] =>
  tree.git("ls-tree", "-r", "-z", "--name-only", commit).split("\0").filter(Boolean);

export const textIn = (tree: WorkTree, commit: string, path: string): string =>
  tree.git("cat-file", "blob", `${commit}:${path}`);

/** Each file below a folder with its times, mode and content. */
export function fingerprint(folder: string, isOf: (path: string) => boolean = () => true): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (at: string): void => {
    for (const name of readdirSync(at).sort()) {
      const path = join(at, name);
      if (!isOf(relative(folder, path))) continue;
      const { mtimeNs, ctimeNs, mode } = lstatSync(path, { bigint: true });
      const stat = lstatSync(path);
      if (stat.isDirectory()) visit(path);
      else found[relative(folder, path)] = `${mode} ${mtimeNs} ${ctimeNs} ${contentOf(path, stat.isSymbolicLink())}`;
    }
  };
  visit(folder);
  return found;
}

const contentOf = (path: string, isLink: boolean): string =>
  createHash("sha256")
    .update(isLink ? readlinkSync(path) : readFileSync(path))
    .digest("hex");

/** Names and contents only: what two work trees have in common when one was made from the other. */
export function contents(folder: string): Record<string, string> {
  const all = fingerprint(folder, (path) => path !== ".git");
  return Object.fromEntries(Object.entries(all).map(([path, print]) => [path, print.split(" ")[3] ?? ""]));
}
