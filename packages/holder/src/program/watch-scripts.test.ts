import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Client, until } from "../holding.test-support.ts";
import { makeClaude } from "./make-claude.test-support.ts";
import { eyeOf, familyOf, nudge, ofKind, type Workplace, workplaceOfEach } from "./watched-program.test-support.ts";

let place: Workplace;
workplaceOfEach((fresh) => {
  place = fresh;
});

function script(...lines: string[]): string {
  const file = join(place.home, "agent-loop.sh");
  writeFileSync(file, lines.join("\n"));
  return file;
}

/** A loop of a shell that calls the program, as many people's agents are. */
const startScript = (args = "-p x"): Promise<Client> =>
  place.start(["sh", script(`${process.execPath} ${makeClaude(place.home)} ${args}`, "sleep 100")]);

const sessions = (client: Client): string[] => ofKind(client, "session").map(({ id }) => id);
const another = "0a0a0a0a-0000-4000-8000-000000000000";

/** One more line of a conversation, as old as its first. */
function saidAtTheBeginning(session: string): void {
  const folder = join(place.home, ".claude/projects", place.cwd.replace(/[^A-Za-z0-9]/g, "-"));
  const file = join(folder, `${session}.jsonl`);
  const first = JSON.parse(readFileSync(file, "utf8").split("\n")[0] ?? "") as object;
  const message = { id: "m0", content: [{ type: "text", text: "I begin." }] };
  appendFileSync(file, `${JSON.stringify({ ...first, type: "assistant", promptSource: undefined, message })}\n`);
}

const goTo = (session: string) => writeFileSync(join(place.cwd, "go-to"), session);

const waits = (ms = 100_000): readonly string[] => [process.execPath, "-e", `"setTimeout(Date, ${ms})"`];
/** What is left at the end is a shell whose prompt looks like an input. */
const startShell = (...before: string[]): Promise<Client> =>
  place.start(["bash", script(...before, "PS1='> ' exec bash --norc --noprofile -i")]);
/** A command under another name. */
const named = (name: string, ...command: readonly string[]): string => `(exec -a ${name} ${command.join(" ")})`;

const noInput = { kind: "not-sent", because: "no-input" };

describe("a holder of a script", () => {
  it("finds the program that the script runs, and the file which that keeps", async () => {
    const client = await startScript();
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    expect(familyOf(client)).toBe("claude-code");
    expect(eyeOf(client, "hooks")).toEqual({ eye: "hooks", sees: false, because: "it is started by a script" });
  });

  it("does not say that a stream was not asked for which the program in the script prints", async () => {
    const client = await startScript("-p x --output-format stream-json --verbose");
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    const because = "it is printed inside a script, where it is not read";
    expect(eyeOf(client, "stream")).toEqual({ eye: "stream", sees: false, because });
  });

  it("follows the next program that the script runs, also when the one before was killed in the middle of a call", async () => {
    const claude = `${process.execPath} ${makeClaude(place.home)} -p x`;
    const client = await place.start(["sh", script(`${claude} dies`, claude)]);
    await until(() => ofKind(client, "tool-started").length >= 1, "a call is seen");
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls of the next are seen");
  });

  it("does not tell what a conversation held before the program went on with it, also when the script ran already", async () => {
    const claude = `${process.execPath} ${makeClaude(place.home)} -p x --resume ${randomUUID()}`;
    const client = await place.start(["sh", script("sleep 3", claude)]);
    await until(() => eyeOf(client, "session-file")?.sees === true, "its file is followed");
    writeFileSync(join(place.cwd, "go"), "");
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    expect(ofKind(client, "tool-started").map(({ id }) => id)).not.toContain("toolu_old");
  });

  it("stays blind, and says why, where another one works in the same folder", async () => {
    const { cwd } = place;
    const other = spawn(process.execPath, ["-e", "setTimeout(() => {}, 100_000)"], { argv0: "claude", cwd });
    try {
      const client = await startScript();
      await until(() => eyeOf(client, "session-file")?.because === "others work in the same folder", "it says why");
      expect(ofKind(client, "tool-started")).toEqual([]);
    } finally {
      other.kill("SIGKILL");
    }
  });

  it("follows the program into another conversation and back, as a person goes, and counts nothing twice", async () => {
    const client = await startScript("slowly");
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    const [first = ""] = sessions(client);
    saidAtTheBeginning(first);
    await until(() => ofKind(client, "said").length === 1, "what it said is known");
    goTo(another);
    await until(() => sessions(client).length === 2, "the other one is read");
    goTo(first);
    await until(() => sessions(client).length === 3, "the first one is read again");
    expect(sessions(client)).toEqual([first, another, first]);
    const asked = ofKind(client, "tool-started").map(({ id }) => id);
    expect(new Set(asked).size).toBe(asked.length);
    expect(ofKind(client, "said")).toHaveLength(1);
  });

  it("does not follow it into one that was there while another one worked in its folder, also when that is gone", async () => {
    const { cwd } = place;
    const client = await startScript("");
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    const other = spawn(process.execPath, ["-e", "setTimeout(() => {}, 100_000)"], { argv0: "claude", cwd });
    try {
      goTo(another);
      const seenAt = Date.now();
      // It is looked for every second.
      await client.hear("report", ({ report }) => report.at > seenAt + 3000);
    } finally {
      other.kill("SIGKILL");
    }
    const goneAt = Date.now();
    await client.hear("report", ({ report }) => report.at > goneAt + 3000);
    expect(sessions(client)).not.toContain(another);
  });

  it("types nothing into a shell that is left when the program is over", async () => {
    const go = join(place.home, "go");
    const program = join(place.home, "waits.cjs");
    writeFileSync(program, `const at = setInterval(() => require("fs").existsSync("${go}") && clearInterval(at), 50)`);
    const client = await startShell(named("aider", process.execPath, program));
    await until(() => familyOf(client) === "aider", "the program is known");
    writeFileSync(go, "");
    await until(() => familyOf(client) === "generic", "it is known to be over");
    expect((await nudge(client, "touch typed")).outcome).toEqual(noInput);
    expect(existsSync(join(place.cwd, "typed"))).toBe(false);
  });

  it("types nothing into a shell while the program is in the background", async () => {
    const client = await startShell("set -m", `${named("aider", ...waits())} &`);
    await until(() => familyOf(client) === "aider", "the program is known");
    expect((await nudge(client, "touch typed")).outcome).toEqual(noInput);
    expect(existsSync(join(place.cwd, "typed"))).toBe(false);
  });

  it("does not take a shell that is called like a program for one: the program is what that shell runs", async () => {
    const shell = `exec -a aider bash --rcfile ${script("PS1='> '", "set -m", `${named("codex", ...waits())} &`)} -i`;
    const client = await place.start(["bash", "-c", shell]);
    await until(() => (familyOf(client) ?? "generic") !== "generic", "a program is known");
    expect(familyOf(client)).toBe("codex");
    expect((await nudge(client, "touch typed")).outcome).toEqual(noInput);
    expect(existsSync(join(place.cwd, "typed"))).toBe(false);
  });
});
