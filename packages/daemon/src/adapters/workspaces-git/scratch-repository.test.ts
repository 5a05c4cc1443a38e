import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findRepository } from "./find-repository.ts";
import { makeScratch } from "./scratch-repository.ts";
import { filesIn, standOnGround, take, textIn, type WorkTree } from "./work-trees.test-support.ts";

const ground = standOnGround();

/** A git that notes how large the copy of the index was each time it was called. */
function notesSizes(): { readonly program: string; sizes(): number[] } {
  const program = join(ground.root, "git-that-looks");
  const notes = join(ground.root, "sizes");
  const look = `if [ -f "$GIT_DIR/index" ]; then stat -c %s "$GIT_DIR/index" >> ${notes}; fi`;
  writeFileSync(notes, "");
  writeFileSync(program, `#!/bin/sh\ncase "$GIT_DIR" in ${ground.scratch}/*) ${look};; esac\nexec git "$@"\n`, {
    mode: 0o755,
  });
  return { program, sizes: () => readFileSync(notes, "utf8").split("\n").filter(Boolean).map(Number) };
}

async function open(tree: WorkTree) {
  const repository = await findRepository(tree.top, { program: "git", deadline: AbortSignal.timeout(50_000) });
  if (repository === null) throw new Error("there is no repository");
  return repository;
}

describe("an index that an agent blew up", () => {
  it("is not copied to our disk, and the work is saved all the same", async () => {
    const tree = ground.repository();
    tree.write("a.txt", "two\n");
    tree.write("new.txt", "new\n");
    // Mostly a hole: it takes no room where it is, and all of it where it is copied to.
    truncateSync(join(tree.top, ".git/index"), 256 * 1024 * 1024 + 1);
    const { program, sizes } = notesSizes();
    const { commit } = await take(ground.open({ program }), tree.top);
    expect(filesIn(tree, commit)).toEqual(["a.txt", "deep/b.txt", "new.txt"]);
    expect(textIn(tree, commit, "a.txt")).toBe("two");
    expect(Math.max(...sizes())).toBeLessThan(1024 * 1024);
  });

  it("is not copied on after the deadline, and nothing of it stays", async () => {
    const repository = await open(ground.repository());
    const late = makeScratch(ground.scratch, repository, { program: "git", deadline: AbortSignal.abort() });
    await expect(late).rejects.toMatchObject({ because: "took-too-long" });
    expect(readdirSync(ground.scratch)).toEqual([]);
    expect(readdirSync(join(repository.commonDir, "objects")).filter((name) => name.startsWith("tmp_"))).toEqual([]);
  });
});
