import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { Fault, minutes, toIso } from "@rouse/contract";
import { type Command, CommanderError } from "commander";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ownerSpeaks, serveTable } from "../../../api/serve-table.test-support.ts";
import { taskRoutes } from "../../../api/tasks.ts";
import { mintAgentToken, readAgentToken } from "../../../home/agent-token.ts";
import { dawn, type TaskWorld, taskWorld } from "../../../tasks/task-world.test-support.ts";
import { createProgram } from "../../create-program.ts";
import { exitCodeOf } from "../../exit-codes.ts";
import type { Surroundings } from "../../surroundings.ts";
import { paintLine } from "../../text/styled-text.ts";

const master = "s3cret-s3cret-s3cret";
let home: string;
let world: TaskWorld;
let app: FastifyInstance;
let url: string;

/** A Rouse with the real routes over the real tasks. */
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "rouse-tasks-cli-"));
  world = await taskWorld();
  const { service } = world;
  app = serveTable(taskRoutes({ service, noteRefusedSpeaker: () => undefined }), {
    speakerOf: ({ headers }) => {
      const claims = readAgentToken(master, headers.authorization?.slice("Bearer ".length) ?? "");
      return claims === null ? ownerSpeaks : { kind: "agent", ...claims };
    },
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  await app.close();
  rmSync(home, { recursive: true });
});

interface Told {
  code: number;
  out: string;
  err: string;
}

const rouse = (...words: string[]): Promise<Told> => rouseIn({}, ...words);

async function rouseIn(environment: Record<string, string>, ...words: string[]): Promise<Told> {
  const told: Told = { code: 0, out: "", err: "" };
  const say = (text: string): void => {
    told.out += text;
  };
  const warn = (text: string): void => {
    told.err += text;
  };
  const here: Surroundings = {
    environment: { ROUSE_URL: url, ROUSE_TOKEN: master, ...environment },
    workingFolder: home,
    home,
    width: 100,
    now: () => world.readClock().time,
    paint: (line) => paintLine(line, false),
    print: (lines) => say(lines.map((line) => `${paintLine(line, false)}\n`).join("")),
    printJson: (document) => say(`${JSON.stringify(document)}\n`),
    printJsonLine: (document) => say(`${JSON.stringify(document)}\n`),
    printText: say,
    warn: warn,
  };
  const finish = (outcome: number): void => {
    told.code = outcome;
  };
  const program = await createProgram(["tasks"], here, async () => undefined, finish);
  const listen = (command: Command): void => {
    command.configureOutput({ writeErr: warn, writeOut: say });
    for (const under of command.commands) listen(under);
  };
  listen(program);
  try {
    await program.parseAsync(["tasks", ...words], { from: "user" });
    return told;
  } catch (error) {
    if (error instanceof CommanderError) return { ...told, code: error.exitCode === 0 ? 0 : 2 };
    if (!(error instanceof Fault)) throw error;
    return { ...told, code: exitCodeOf(error), err: error.message };
  }
}

describe("rouse tasks", () => {
  it("shows what needs somebody also when more wait than a page holds", async () => {
    for (let n = 0; n < 1010; n++) await world.service.create({ taskId: `t${n}` });
    await rouse("block", "t1005");
    await world.service.claim("t1007", { agentId: "w" });
    const { out } = await rouse();
    expect(out.split("\n").slice(1, 4)).toEqual([
      expect.stringMatching(/^t1005 +blocked /),
      expect.stringMatching(/^t1007 +claimed .* w /),
      expect.stringMatching(/^t0 +pending /),
    ]);
    expect(out).toContain("These are 1002 of 1010.");
    expect((await rouse("--status", "failed")).out).toBe("No such tasks.\n");
  });

  it("takes a task from its beginning to its end", async () => {
    const added = await rouse(
      ...["add", "fix-42", "--title", "Fix it", "--priority", "high", "--timeout", "2h", "--on-timeout", "person"],
      ...["--depends-on", "a, b", "--owner", "ann"],
    );
    expect(added).toEqual({
      code: 0,
      out: "fix-42 is pending, waiting for a (nobody has made it yet), b (nobody has made it yet).\nFix it\n",
      err: "",
    });
    expect(world.service.show("fix-42")).toMatchObject({ dependsOn: ["a", "b"], owner: "ann", onTimeout: "person" });
    expect(world.tasks.find("fix-42")?.timeout).toBe(minutes(120));
    for (const id of ["a", "b"]) {
      expect((await rouse("add", id)).out).toBe(`${id} is pending.\n`);
      expect((await rouse("claim", id, "--agent", "w")).out).toBe(`${id} is claimed, by w with claim 1.\n`);
      expect((await rouse("complete", id, "--agent", "w", "--claim", "1")).out).toBe(`${id} is completed by w.\n`);
    }
    expect((await rouse("claim", "--next", "--agent", "w")).out).toBe(
      "fix-42 is claimed, by w with claim 1.\nFix it\n",
    );
    const update = await rouse("update", "fix-42", "--agent", "w", "--note", "half way", "--status", "blocked");
    expect(update.out).toBe("fix-42 is blocked, by w with claim 1.\nFix it\n");
    expect((await rouse("unblock", "fix-42")).out).toContain("is running");
    expect((await rouse("fail", "fix-42", "--agent", "w", "--note", "no")).out).toContain("is failed");
    expect((await rouse("show", "fix-42")).out).toMatch(/^note +no$/m);
    expect((await rouse("retry", "fix-42", "--reason", "again")).out).toContain("is pending");
    expect((await rouse("cancel", "fix-42")).out).toContain("is cancelled");
    const trail = await world.store.readAudit({ limit: 100 });
    expect(trail[0]).toMatchObject({ actor: "owner", evidence: { as: userInfo().username } });
    expect(trail[0]).toMatchObject({ action: "order-task-create", subject: "fix-42" });
    expect(trail.find(({ action }) => action === "order-task-retry")).toMatchObject({
      actor: "owner",
      evidence: { as: userInfo().username },
      reason: "again",
    });
  });

  it("lists what is open; with --all what is over, too", async () => {
    for (const id of ["a", "b", "c"]) await rouse("add", id);
    await rouse("claim", "b", "--agent", "w");
    await rouse("cancel", "c");
    world.pass(minutes(5));
    expect((await rouse()).out).toBe(
      [
        "TASK  STATUS   PRIORITY  AGENT  UPDATED  TITLE",
        "b     claimed  normal    w      5 min ago  –",
        "a     pending  normal    –      5 min ago  –",
        "",
        "1 more task is over; --all shows it.",
        "",
      ]
        .join("\n")
        .replace("UPDATED  TITLE", "UPDATED    TITLE"),
    );
    const ids = async (...words: string[]) =>
      (JSON.parse((await rouse(...words, "--json")).out) as { tasks: { taskId: string }[] }).tasks.map((t) => t.taskId);
    expect(await ids()).toEqual(["a", "b"]);
    expect(await ids("--all")).toEqual(["a", "b", "c"]);
    expect(await ids("--status", "cancelled,claimed")).toEqual(["b", "c"]);
    expect(await ids("--agent", "w")).toEqual(["b"]);
  });

  it("prints the report as it is with --json", async () => {
    const { out } = await rouse("add", "a", "--json");
    expect(JSON.parse(out)).toMatchObject({ taskId: "a", status: "pending", createdAt: toIso(dawn) });
    expect(JSON.parse((await rouse("show", "a", "--json")).out)).toEqual(world.service.show("a"));
    expect(JSON.parse((await rouse("claim", "--next", "--agent", "w", "--json")).out)).toMatchObject({ taskId: "a" });
  });

  it("keeps a claim alive, which does not count as progress", async () => {
    await rouse("add", "a");
    await rouse("claim", "a", "--agent", "w");
    world.pass(minutes(5));
    expect((await rouse("refresh", "a", "--agent", "w", "--claim", "1")).out).toBe(
      "a is claimed, by w with claim 1.\n",
    );
    expect(world.service.show("a")).toMatchObject({
      claim: { refreshedAt: toIso(dawn + minutes(5)) },
      updatedAt: toIso(dawn),
    });
    expect((await rouse("refresh", "a", "--agent", "w", "--claim", "2")).code).toBe(1);
    expect((await rouse("refresh", "a", "--agent", "w", "--note", "x")).code).toBe(2);
  });

  it("hands a task to one agent, or to any", async () => {
    world.beats({ agentId: "v" });
    await rouse("add", "a");
    await rouse("claim", "a", "--agent", "w");
    expect((await rouse("reassign", "a", "--to", "v")).out).toBe("a is pending, meant for v.\n");
    expect((await rouse("reassign", "a")).out).toBe("a is pending.\n");
    expect((await rouse("reassign", "a", "--to", "nobody")).code).toBe(5);
    expect((await rouse("trust", "v")).out).toBe("v may have tasks like any other again.\n");
  });

  it("tells a script what came of it", async () => {
    expect(await rouse("claim", "--next", "--agent", "w")).toMatchObject({ code: 1, out: "There is nothing to do.\n" });
    expect((await rouse("claim", "--next", "--agent", "w", "--json")).out).toBe('{"task":null}\n');
    await rouse("add", "a");
    expect((await rouse("claim", "a", "--agent", "w")).code).toBe(0);
    expect(await rouse("claim", "a", "--agent", "v")).toEqual({
      code: 1,
      out: "",
      err: "task a is w's by claim 1 (taken)",
    });
    expect((await rouse("show", "nope")).code).toBe(5);
    expect((await rouse("show", "../agents")).code).toBe(5);
  });

  it.each([
    [["add", "a", "--timeout", "soon"], "Expected a duration"],
    [["add", "a", "--timeout", "31d"], "at most 30d"],
    [["add", "a", "--priority", "urgent"], "Allowed choices are low, normal, high, critical"],
    [["--status", "done"], "Expected some of pending, claimed"],
    [["--status", "failed", "--all"], "not both"],
    [["claim", "--agent", "w"], "give an id or --next"],
    [["claim", "a", "--next", "--agent", "w"], "give an id or --next"],
    [["claim", "a"], "say for which agent, with --agent"],
    [["complete", "a", "--agent", "w", "--claim", "x"], "Expected a whole number"],
    [["cancle", "a"], ""],
  ])("ends with 2 and says what is wrong with %j", async (words, problem) => {
    const { code, err, out } = await rouse(...words);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(problem);
  });

  it("inside an agent speaks for that agent, and for no other", async () => {
    await rouse("add", "a");
    const inside = {
      ROUSE_AGENT_ID: "w",
      ROUSE_TOKEN: mintAgentToken(master, { agentId: "w", taskId: null, incarnation: 1 }),
    };
    expect((await rouseIn(inside, "claim", "--next")).out).toBe("a is claimed, by w with claim 1.\n");
    expect((await rouseIn(inside, "update", "a", "--note", "mine")).code).toBe(0);
    expect((await rouseIn(inside, "complete", "a", "--agent", "v")).code).toBe(4);
    expect((await rouseIn(inside, "complete", "a")).out).toBe("a is completed by w.\n");
  });

  it("says how it is used within 80 columns", async () => {
    for (const words of [[], ["add"], ["claim"], ["update"], ["refresh"], ["complete"], ["reassign"], ["trust"]]) {
      const { code, out } = await rouse(...words, "--help");
      expect(code).toBe(0);
      for (const line of out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    }
  });
});
