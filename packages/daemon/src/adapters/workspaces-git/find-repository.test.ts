import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findRepository } from "./find-repository.ts";
import { standOnGround } from "./work-trees.test-support.ts";

const ground = standOnGround();
const git = () => ({ program: "git", deadline: AbortSignal.timeout(30_000) });

describe("a repository", () => {
  it("has the hooks switched off that its configuration names, however they are called", async () => {
    const tree = ground.repository();
    const names = ["evil", "e=v.il", "ev il"];
    for (const name of names) tree.git("config", `hook.${name}.command`, "false");
    const repository = await findRepository(tree.top, git());
    for (const name of names) {
      const answer = await repository?.ask(["config", "--get", `hook.${name}.enabled`]);
      expect(answer?.output.toString()).toBe("false\n");
    }
  });

  it("is read with how it reads files, and with nothing that names a program", async () => {
    const tree = ground.repository();
    tree.git("config", "core.autocrlf", "input");
    tree.git("config", "core.fsmonitor", "evil");
    tree.git("config", "core.editor", "evil");
    const repository = await findRepository(tree.top, git());
    expect(repository?.fileSettings).toContain("core.autocrlf=input");
    expect(repository?.fileSettings.join()).not.toContain("evil");
  });

  it.each([
    ["a pipe", 'mkfifo "$file"'],
    ["endless", 'ln -s /dev/zero "$file"'],
    ["too long", 'truncate -s 1G "$file"'],
  ])("keeps nobody waiting when the agent makes its commondir %s while it is looked at", async (_, put) => {
    const tree = ground.repository();
    const beside = join(ground.root, "beside");
    tree.git("worktree", "add", "-q", beside);
    const file = join(tree.top, ".git", "worktrees", "beside", "commondir");
    const program = join(ground.root, "git-and-agent");
    const change = `case "$*" in *--get-regexp*) file='${file}'; rm "$file"; ${put};; esac`;
    writeFileSync(program, `#!/bin/sh\ngit "$@"; status=$?\n${change}\nexit $status\n`, { mode: 0o755 });
    const looking = findRepository(beside, { program, deadline: AbortSignal.timeout(30_000) });
    await expect(looking).rejects.toThrow("commondir cannot be read as a file");
  });
});
