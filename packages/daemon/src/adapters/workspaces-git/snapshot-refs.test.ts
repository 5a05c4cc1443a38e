import { execFileSync } from "node:child_process";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nameRef, refsOf } from "./snapshot-refs.ts";
import { standOnGround, take } from "./work-trees.test-support.ts";

const ground = standOnGround();

const odd = [
  "a",
  "A:b",
  "a..b",
  "a...",
  "x.lock",
  "x.lock.lock",
  "a.",
  "a@b",
  "a@",
  "a+b",
  `a${":".repeat(127)}`,
  "b".repeat(128),
];
const agentId = fc.oneof(
  fc.constantFrom(...odd),
  fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}$/),
  fc.stringMatching(/^[a-b][.:@]{0,6}(?:lock|\.)?$/),
);

describe("the references of an agent", () => {
  it("have names that git takes, whatever the agent is called", () => {
    const tree = ground.repository();
    const names = new Set(fc.sample(agentId, { numRuns: 400, seed: 5 }).map((id) => nameRef(id, 1, "key")));
    const orders = [...names].map((name) => `create ${name} HEAD\n`).join("");
    execFileSync("git", ["update-ref", "--stdin"], { cwd: tree.top, input: orders });
    expect(tree.git("for-each-ref", "--format=%(refname)", "refs/rouse").split("\n").sort()).toEqual([...names].sort());
  });

  it("are never those of another", () => {
    fc.assert(fc.property(agentId, agentId, (one, two) => (refsOf(one) === refsOf(two)) === (one === two)));
    expect(new Set(odd.map(refsOf)).size).toBe(odd.length);
  });

  it("stay readable where they can", () => {
    expect(refsOf("claude-3.5_builder@host")).toBe("refs/rouse/claude-3.5_builder@host/");
    expect(refsOf("team:builder..x.lock")).toBe("refs/rouse/team%3abuilder%2e.x%2elock/");
  });

  it("hold its snapshots, and the list finds them again", async () => {
    const tree = ground.repository();
    const workspaces = ground.open();
    for (const id of odd) {
      const { commit } = await take(workspaces, join(tree.top, "deep"), { agentId: id });
      expect((await workspaces.list(tree.top, id)).map((one) => one.commit)).toEqual([commit]);
    }
  });
});
