import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import { type Command, CommanderError } from "commander";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openGitWorkspaces } from "../../../adapters/workspaces-git/open-git-workspaces.ts";
import { type ServedCheckpoints, serveCheckpoints } from "../../../api/serve-checkpoints.test-support.ts";
import { type CheckpointWorld, largeState, task } from "../../../checkpoints/checkpoint-world.test-support.ts";
import { createProgram } from "../../create-program.ts";
import { exitCodeOf } from "../../exit-codes.ts";
import { type Surroundings, writeJson } from "../../surroundings.ts";
import { paintLine } from "../../text/styled-text.ts";

let home: string;
let served: ServedCheckpoints;
let world: CheckpointWorld;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "rouse-checkpoints-"));
  served = await serveCheckpoints();
  ({ world } = served);
});
afterEach(async () => {
  await served.app.close();
  rmSync(home, { recursive: true });
});

async function rouse(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  const told = { code: 0, out: "", err: "" };
  const say = (text: string): void => {
    told.out += text;
  };
  const warn = (text: string): void => {
    told.err += text;
  };
  const here: Surroundings = {
    environment: { ROUSE_URL: served.base, ROUSE_TOKEN: "any" },
    workingFolder: home,
    home,
    width: 120,
    now: () => Date.UTC(2026, 1, 5, 12, 3),
    paint: (line) => paintLine(line, false),
    print: (lines) => say(lines.map((line) => `${paintLine(line, false)}\n`).join("")),
    printJson: (document) => say(`${writeJson(document, 0)}\n`),
    printJsonLine: (document) => say(`${writeJson(document, 0)}\n`),
    printText: say,
    warn: warn,
  };
  const program = await createProgram(
    ["checkpoints"],
    here,
    async () => undefined,
    (code) => {
      told.code = code;
    },
    async () => openGitWorkspaces(),
  );
  const listen = (command: Command): void => {
    command.configureOutput({ writeErr: warn, writeOut: say });
    for (const under of command.commands) listen(under);
  };
  listen(program);
  try {
    await program.parseAsync(["checkpoints", ...words], { from: "user" });
    return told;
  } catch (error) {
    if (error instanceof CommanderError) return { ...told, code: error.exitCode === 0 ? 0 : 2 };
    if (!(error instanceof Fault)) throw error;
    return { ...told, code: exitCodeOf(error), err: error.message };
  }
}

describe("rouse checkpoints list", () => {
  it("shows the chain of a task, newest first", async () => {
    await world.save(1, { stepName: "plan" });
    const { id } = await world.save(2, { stepName: "build\u001b[2J", state: largeState("a") });
    const { out, code } = await rouse("list", task);
    expect(code).toBe(0);
    expect(
      out
        .split("\n")
        .slice(0, 3)
        .map((line) => line.replace(/ +/g, " ")),
    ).toEqual([
      "NUMBER STEP NAME SAVED BY STATE WORKSPACE ID",
      expect.stringMatching(new RegExp(`^2 2 build\ufffd\\[2J 3 min ago worker-1 97\\.7 KiB – ${id.slice(0, 20)}`)),
      expect.stringMatching(/^1 1 plan 3 min ago worker-1 10 bytes – /),
    ]);
    expect((await rouse("list", task, "--limit", "1")).out).not.toContain("plan");
    expect(JSON.parse((await rouse("list", task, "--json")).out)).toMatchObject({
      taskId: task,
      checkpoints: [{ id }, { step: 1 }],
    });
  });

  it("says when there are none, and refuses what is no name, or no task's", async () => {
    expect(await rouse("list", "other")).toMatchObject({ code: 5, out: "", err: expect.stringMatching(/rouse tasks/) });
    served.tasks.add("other");
    expect(await rouse("list", "other")).toEqual({ code: 0, out: "Task other has no checkpoints.\n", err: "" });
    expect((await rouse("list", "../x")).code).toBe(5);
    expect((await rouse("list")).code).toBe(2);
  });
});

describe("rouse checkpoints show", () => {
  it("prints the head and the state, by the id or by task and number", async () => {
    const first = await world.save(1);
    const { id } = await world.save(4, { stepName: "test", state: { note: "\u009b31m\u202e", left: [1, 2] } });
    for (const name of [id, `${task}/2`]) {
      const { out, code } = await rouse("show", name);
      expect(code).toBe(0);
      expect(out).toContain(`id         ${id}\n`);
      expect(out).toContain("step       4 (test)\n");
      expect(out).toContain(`after      ${first.id}\n`);
      expect(out).toContain('  "note": "\\u009b31m\\u202e"');
    }
    expect(JSON.parse((await rouse("show", id, "--json")).out)).toMatchObject({ id, state: { left: [1, 2] } });
  });

  it("prints the state alone for other programs, all of it", async () => {
    const state = { lines: Array.from({ length: 1000 }, (_, i) => i) };
    await world.save(1, { state });
    expect(JSON.parse((await rouse("show", `${task}/1`, "--state")).out)).toEqual(state);
    expect((await rouse("show", `${task}/1`)).out).toMatch(/… 804 more lines; --state prints all of it\n$/);
  });

  it("tells an unknown one from a damaged one", async () => {
    expect(await rouse("show", "a".repeat(64))).toMatchObject({ code: 5 });
    expect(await rouse("show", `${task}/9`)).toMatchObject({ code: 5 });
    expect(await rouse("show", "nonsense")).toMatchObject({ code: 5 });
    const { id } = await world.save(1);
    world.replaceRow(id, { state: "0" });
    expect(await rouse("show", id)).toMatchObject({ code: 6, err: expect.stringMatching(/state-changed/) });
  });
});

describe("rouse checkpoints verify", () => {
  it("ends with 0 when every one is right, with 1 when one is not, and says which", async () => {
    await world.save(1);
    const { id } = await world.save(2, { stepName: "build" });
    await world.save(3);
    expect(await rouse("verify", task)).toMatchObject({ code: 0, out: expect.stringMatching(/All 3 are right\.\n$/) });
    world.replaceRow(id, { state: "0" });
    const { code, out } = await rouse("verify", task);
    expect(code).toBe(1);
    expect(out).toMatch(/^2 .*build.*its state was changed$/m);
    expect(out).toMatch(/^3 .*one that it goes on from is not right$/m);
    expect(out).toMatch(/2 of 3 are not right\.\n$/);
    expect(JSON.parse((await rouse("verify", task, "--json")).out)).toMatchObject({ sound: false, more: false });
    expect(await rouse("verify", "a-typo")).toMatchObject({ code: 5, out: "" });
  });
});

describe("rouse checkpoints restore", () => {
  it("writes the state of a checkpoint without a working tree to a file that only its owner reads", async () => {
    const { id } = await world.save(1, { state: { at: 7 } });
    expect(await rouse("restore", id)).toMatchObject({ code: 2, err: expect.stringMatching(/--to FOLDER/) });
    const file = join(home, "out", "state.json");
    const { code, out } = await rouse("restore", id, "--to", "out");
    expect({ code, out }).toEqual({
      code: 0,
      out: `This checkpoint has no working tree. Its state is in ${file}.\n`,
    });
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ at: 7 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    writeFileSync(file, "precious");
    expect(await rouse("restore", id, "--to", "out")).toMatchObject({ code: 2, err: expect.stringMatching(/exists/) });
    expect(readFileSync(file, "utf8")).toBe("precious");
  });

  describe("of a working tree", () => {
    let repository: string;
    const git = (...words: string[]) => execFileSync("git", words, { cwd: repository, encoding: "utf8" });

    beforeEach(async () => {
      repository = join(home, "repo");
      mkdirSync(repository);
      git("init", "-q");
      git("config", "user.email", "ada@example.com");
      git("config", "user.name", "Ada");
      writeFileSync(join(repository, "kept"), "committed");
      git("add", ".");
      git("commit", "-qm", "first");
      writeFileSync(join(repository, "kept"), "changed");
      writeFileSync(join(repository, "untracked"), "new");
      const taken = await openGitWorkspaces().snapshot({
        agentId: "worker-1",
        incarnation: 1,
        key: "k",
        folder: repository,
        reason: "checkpoint",
      });
      if (taken.kind !== "taken") throw new Error("no snapshot was taken");
      const { commit, ref } = taken.snapshot;
      await world.save(3, { workspace: { commit, ref, folder: repository } });
      writeFileSync(join(repository, "kept"), "later");
      rmSync(join(repository, "untracked"));
    });

    const filesIn = (folder: string) =>
      ["kept", "untracked"].map((file) =>
        existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8") : null,
      );

    it("makes a new folder beside it, or where it is told, and leaves the old one alone", async () => {
      const beside = join(home, "repo-checkpoint-1");
      const { code, out } = await rouse("restore", `${task}/1`);
      expect({ code, out }).toEqual({
        code: 0,
        out: `Checkpoint 1 of ${task}, made after step 3, is in ${beside}, a work tree of its own on no branch.\n`,
      });
      expect(filesIn(beside)).toEqual(["changed", "new"]);
      expect(filesIn(repository)).toEqual(["later", null]);
      expect((await rouse("restore", `${task}/1`, "--to", "elsewhere")).code).toBe(0);
      expect(filesIn(join(home, "elsewhere"))).toEqual(["changed", "new"]);
      const again = await rouse("restore", `${task}/1`, "--to", "elsewhere");
      expect(again).toMatchObject({ code: 1, out: expect.stringMatching(/^Not restored: .*is not empty/) });
    });

    it("goes back in place only when asked, and what was there is saved", async () => {
      expect(await rouse("restore", `${task}/1`, "--in-place", "--to", "x")).toMatchObject({ code: 2 });
      const { code, out } = await rouse("restore", `${task}/1`, "--in-place");
      expect(code).toBe(0);
      expect(filesIn(repository)).toEqual(["changed", "new"]);
      const [, saved] = /what was there is saved as ([0-9a-f]+)\.\n$/.exec(out) ?? [];
      expect(git("show", `${saved}:kept`)).toBe("later");
    });

    it("says what is wrong when the repository is gone", async () => {
      rmSync(repository, { recursive: true });
      expect(await rouse("restore", `${task}/1`)).toMatchObject({ code: 1, out: expect.stringMatching(/restored: /) });
    });
  });
});
