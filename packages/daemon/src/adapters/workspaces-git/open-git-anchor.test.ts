import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { anchorConformance, sealOfLine } from "../../ports/anchors.conformance.ts";
import { openGitAnchor } from "./open-git-anchor.ts";
import { standOnGround } from "./work-trees.test-support.ts";

const ground = standOnGround();
const ref = "refs/rouse-audit/seals";

const open = (repository: string) => openGitAnchor({ repository, ref, folder: ground.root });
const place = (repository: string, number = 1) =>
  open(repository).place(sealOfLine(number), AbortSignal.timeout(30_000));

anchorConformance("a git ref of a work tree", () => {
  const top = join(ground.root, "project");
  return open(existsSync(top) ? top : ground.repository("project").top);
});

anchorConformance("a git ref of a bare repository", () => {
  const top = join(ground.root, "bare.git");
  if (!existsSync(top)) {
    mkdirSync(top);
    ground.at(top).git("init", "--quiet", "--bare");
  }
  return open("bare.git");
});

describe("a git ref of seals", () => {
  it("is a line of commits without files, and nothing else of the repository changes", async () => {
    const { top, git, write } = ground.repository("project");
    write("a.txt", "changed");
    write("new.txt", "new");
    git("add", "new.txt");
    const state = () => [
      git("status", "--porcelain=v2", "--branch"),
      git("for-each-ref", "refs/heads", "refs/tags", "refs/stash"),
      git("ls-files", "--stage"),
      git("reflog"),
    ];
    const before = state();
    for (const number of [1, 66]) await place(top, number);
    expect(state()).toEqual(before);
    expect(git("rev-list", "--count", ref).trim()).toBe("2");
    expect(git("ls-tree", "-r", ref)).toBe("");
    expect(git("log", "-1", "--format=%an %aI%n%B", ref)).toContain(`Rouse 2026-02-05T12:00:06+00:00\n{"time":`);
  });

  it("outlives a clean-up of unused objects", async () => {
    const { top, git } = ground.repository("project");
    await place(top);
    git("gc", "--quiet", "--prune=now");
    expect(await open(top).read()).toEqual([sealOfLine(1)]);
  });

  it("runs nothing that the repository names", async () => {
    const { top, git, script } = ground.repository("project");
    const mark = join(ground.root, "was-run");
    script(".git/hooks/reference-transaction", `touch ${mark}`);
    script("evil", `touch ${mark}`);
    for (const [name, value] of [
      ["core.fsmonitor", join(top, "evil")],
      ["gpg.program", join(top, "evil")],
      ["commit.gpgSign", "true"],
      ["hook.evil.command", join(top, "evil")],
      ["hook.evil.event", "reference-transaction"],
    ] as const)
      git("config", name, value);
    for (const number of [1, 66]) await place(top, number);
    expect(await open(top).read()).toHaveLength(2);
    expect(existsSync(mark)).toBe(false);
  });

  it("loses nothing when several write at once: who comes second is refused", async () => {
    const { top } = ground.repository("project");
    await place(top, 1);
    const numbers = [66, 131, 196, 261];
    const outcomes = await Promise.allSettled(numbers.map((number) => place(top, number)));
    const placed = numbers.filter((_, i) => outcomes[i]?.status === "fulfilled");
    const kept = ((await open(top).read()) as { number: number }[]).map(({ number }) => number);
    expect(placed.length).toBeGreaterThan(0);
    expect(kept.toSorted((a, b) => a - b)).toEqual([1, ...placed]);
  });

  it("that cannot be written says where and why, and an empty one is empty", async () => {
    const { top } = ground.repository("project");
    expect(await open(top).read()).toEqual([]);
    await expect(place(join(ground.root, "nowhere"))).rejects.toThrow(/nowhere is no longer there/);
    mkdirSync(join(ground.root, "plain"));
    await expect(place(join(ground.root, "plain"))).rejects.toThrow(
      /plain: git rev-parse: fatal: not a git repository/,
    );
  });
});
