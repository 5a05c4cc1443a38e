import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { Fault, minutes } from "@rouse/contract";
import { type Command, CommanderError } from "commander";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { escalationRoutes } from "../../../api/escalations.ts";
import { serveTable } from "../../../api/serve-table.test-support.ts";
import { type EscalationDesk, escalationDesk } from "../../../escalations/escalation-desk.test-support.ts";
import { createProgram } from "../../create-program.ts";
import { exitCodeOf } from "../../exit-codes.ts";
import type { Surroundings } from "../../surroundings.ts";
import { paintLine } from "../../text/styled-text.ts";

let home: string;
let desk: EscalationDesk;
let app: FastifyInstance;
let url: string;

/** A Rouse with the real routes, and agents judged by the real core. */
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "rouse-escalations-"));
  desk = await escalationDesk();
  const door = { secret: "s3cret-s3cret-s3cret", now: desk.now, noteBadSignature: () => undefined };
  app = serveTable(escalationRoutes(desk.escalations, door));
  await app.listen({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  await app.close();
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
    environment: { ROUSE_URL: url, ROUSE_TOKEN: "any" },
    workingFolder: home,
    home,
    width: 100,
    now: desk.now,
    paint: (line) => paintLine(line, false),
    print: (lines) => say(lines.map((line) => `${paintLine(line, false)}\n`).join("")),
    printJson: (document) => say(`${JSON.stringify(document)}\n`),
    printJsonLine: (document) => say(`${JSON.stringify(document)}\n`),
    printText: say,
    warn: warn,
  };
  const program = await createProgram(
    words,
    here,
    async () => undefined,
    (outcome) => {
      told.code = outcome;
    },
  );
  const listen = (command: Command): void => {
    command.configureOutput({ writeErr: warn, writeOut: say });
    for (const under of command.commands) listen(under);
  };
  listen(program);
  try {
    await program.parseAsync(words, { from: "user" });
    return told;
  } catch (error) {
    if (error instanceof CommanderError) return { ...told, code: error.exitCode === 0 ? 0 : 2 };
    if (!(error instanceof Fault)) throw error;
    return { ...told, code: exitCodeOf(error), err: error.message };
  }
}

function getStuck(agentId: string): string {
  desk.beat(agentId, { progressIndicator: "a" });
  desk.beat(agentId, { progressIndicator: "b" });
  desk.passesFor(agentId, minutes(60), { progressIndicator: "b" });
  return `${agentId}.1`;
}

describe("rouse escalations", () => {
  it("lists, shows and answers a question", async () => {
    getStuck("worker-1");
    const listed = await rouse("escalations");
    expect(listed.out).toMatch(/worker-1\.1 +SEV-3 +worker-1 +STUCK: no progress; nudges unanswered +in 15 min/);
    expect((await rouse("escalations", "--agent", "worker-2")).out).toBe("Nothing waits for an answer.\n");
    expect(JSON.parse((await rouse("escalations", "--json")).out).escalations).toHaveLength(1);
    const shown = await rouse("escalations", "show", "worker-1.1");
    expect(shown.out).toContain("rouse escalations decide worker-1.1 ");
    expect(JSON.parse((await rouse("escalations", "show", "worker-1.1", "--json")).out)).toMatchObject({
      id: "worker-1.1",
    });
    expect((await rouse("escalations", "ack", "worker-1.1")).out).toContain("still waits");
    const words = ["escalations", "decide", "worker-1.1", "allow_more_time", "--minutes", "2.5", "--reason", "a build"];
    expect(await rouse(...words)).toEqual({ code: 0, out: "worker-1.1 is decided: allow more time.\n", err: "" });
    expect(desk.events.at(-1)?.payload).toMatchObject({ actor: "owner", reason: "a build" });
    expect(await desk.namesGiven("order-decision")).toEqual([`owner as ${userInfo().username}`]);
    expect(desk.record("worker-1").ladder.incident?.stage).toMatchObject({ kind: "more-time" });
  });

  it("says of a decision that Rouse cannot carry out that a person has to", async () => {
    const id = getStuck("worker-1");
    const { out } = await rouse("escalations", "decide", id, "terminate_and_recover");
    expect(out).toBe(
      "worker-1.1 is decided: terminate and recover. A person has to: Rouse may not or cannot stop it.\n",
    );
    getStuck("worker-2");
    const json = await rouse("escalations", "decide", "worker-2.1", "terminate_and_recover", "--json");
    expect(JSON.parse(json.out)).toMatchObject({ escalation: "worker-2.1", effect: "handed-to-a-person" });
  });

  it("says of more time for an agent that is well that it changes nothing", async () => {
    desk.beat("worker-1");
    await rouse("escalate", "worker-1", "--reason", "it looks odd");
    expect((await rouse("escalations", "decide", "worker-1.1", "allow_more_time")).out).toBe(
      "worker-1.1 is decided: allow more time. Nothing is done: it is not ill.\n",
    );
  });

  it("ends with 1 when somebody else was first, and says who; with 5 when there is no such question", async () => {
    const id = getStuck("worker-1");
    await desk.escalations.decide(id, { decision: "allow_more_time", actor: "ada", reason: "x" });
    const late = await rouse("escalations", "decide", id, "terminate_and_recover");
    expect(late).toMatchObject({ code: 1, out: "", err: expect.stringContaining("allow_more_time, by ada") });
    expect(await rouse("escalations", "show", id)).toMatchObject({ code: 1 });
    for (const unknown of ["worker-1.9", "worker-1", "../x", "nobody.1"]) {
      expect(await rouse("escalations", "show", unknown), unknown).toMatchObject({ code: 5, out: "" });
      expect(await rouse("escalations", "ack", unknown), unknown).toMatchObject({ code: 5, out: "" });
    }
  });

  it("ends with 2 over words it does not understand, and asks nobody", async () => {
    const id = getStuck("worker-1");
    for (const words of [
      ["decide", id, "kill"],
      ["decide", id],
      ["decide", id, "allow_more_time", "--minutes", "0"],
      ["decide", id, "allow_more_time", "--minutes", "soon"],
      ["decide", id, "force_handoff", "--minutes", "5"],
      ["shwo", id],
    ])
      expect((await rouse("escalations", ...words)).code, words.join(" ")).toBe(2);
    expect(await desk.notice(id)).not.toBeNull();
  });
});

describe("rouse nudge", () => {
  it("puts a person's own words to an agent, or the reminder, under their name", async () => {
    desk.beat("worker-1");
    const own = await rouse("nudge", "worker-1", "go on with step 4");
    expect(own).toMatchObject({ code: 0, out: expect.stringContaining("  go on with step 4\n") });
    expect(desk.events.at(-1)?.payload).toMatchObject({ template: "operator", actor: "owner" });
    expect(await desk.namesGiven("order-nudge")).toEqual([`owner as ${userInfo().username}`]);
    expect(JSON.parse((await rouse("nudge", "worker-1", "--json")).out)).toMatchObject({ state: "queued" });
    expect(await rouse("nudge", "nobody")).toMatchObject({ code: 5 });
  });

  it.each(["", "  ", "x".repeat(2001)])("takes no message that says nothing or too much", async (message) => {
    desk.beat("worker-1");
    expect(await rouse("nudge", "worker-1", message)).toMatchObject({
      code: 2,
      err: expect.stringContaining("Expected 1 to 2000 characters; leave it out for the reminder."),
    });
    expect(desk.events.filter(({ type }) => type === "NUDGE_QUEUED")).toEqual([]);
  });

  it("ends with 1 when there is no way to reach it", async () => {
    desk.registers("worker-1");
    expect(await rouse("nudge", "worker-1")).toMatchObject({ code: 1, out: expect.stringContaining("was not nudged") });
  });
});

describe("rouse escalate", () => {
  it("asks about an agent and says under which name the question stands", async () => {
    desk.beat("worker-1");
    const asked = await rouse("escalate", "worker-1", "--reason", "it looks odd");
    expect(asked).toMatchObject({ code: 0, out: expect.stringContaining("worker-1.1 waits for an answer until") });
    expect(asked.out).toContain("rouse escalations show worker-1.1");
    expect(await rouse("escalate", "nobody", "--reason", "x")).toMatchObject({ code: 5 });
    expect(await rouse("escalate", "worker-1")).toMatchObject({ code: 2, err: expect.stringContaining("--reason") });
  });
});

describe("their help", () => {
  it("shows examples within 80 columns", async () => {
    for (const words of [["escalations"], ["escalations", "decide"], ["nudge"], ["escalate"]]) {
      const { code, out } = await rouse(...words, "--help");
      expect(code).toBe(0);
      for (const line of out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
      expect(out).toMatch(/worker-1|allow_more_time/);
    }
  });
});
