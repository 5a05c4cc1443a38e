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
});
