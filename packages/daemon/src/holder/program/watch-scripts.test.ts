import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
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
const startScript = (): Promise<Client> =>
  place.start(["sh", script(`${process.execPath} ${makeClaude(place.home)} -p x`, "sleep 100")]);

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
