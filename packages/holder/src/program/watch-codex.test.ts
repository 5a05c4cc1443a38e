import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Client, until } from "../holding.test-support.ts";
import { makeCodex } from "./make-codex.test-support.ts";
import { eyeOf, ofKind, sightsOf, type Workplace, workplaceOfEach } from "./watched-program.test-support.ts";

let place: Workplace;
workplaceOfEach((fresh) => {
  place = fresh;
});

const startCodex = (...args: string[]): Promise<Client> =>
  place.start([process.execPath, makeCodex(place.home), ...args], {
    family: "codex",
    structured: args.includes("--json"),
    env: { CODEX_HOME: join(place.home, "codex") },
  });

describe("a holder of Codex", () => {
  it("reads the file of one that was over before its process was looked at", async () => {
    const client = await startCodex("exec", "go");
    await client.hear("report", ({ report }) => report.exit !== null);
    expect(ofKind(client, "session")).toHaveLength(1);
    expect(ofKind(client, "turn-ended")).toEqual([
      { kind: "turn-ended", outcome: "failure", reason: "context_window_exceeded" },
    ]);
  });

  it.each([
    ["asks", "ask"],
    ["retries", "retry"],
  ] as const)(
    "tells what its file has before what stands on its screen, which came after that: %s",
    async (shown, how) => {
      const client = await startCodex(how);
      await until(() => ofKind(client, shown).length > 0, "what it shows is told");
      await until(() => ofKind(client, "turn-ended").length > 0, "the end of its turn is told");
      const told = sightsOf(client).flatMap(({ kind }) => (kind === shown || kind === "turn-ended" ? [kind] : []));
      expect(told).toEqual(["turn-ended", shown]);
      writeFileSync(join(place.cwd, "stop"), "");
    },
  );

  it("follows it into a conversation that a person begins in its screen", async () => {
    const client = await startCodex("ask");
    await until(() => ofKind(client, "turn-ended").length > 0, "its file is followed");
    writeFileSync(join(place.cwd, "new"), "");
    await until(() => ofKind(client, "session").at(-1)?.id === "another", "the other one is known");
    writeFileSync(join(place.cwd, "stop"), "");
    await client.hear("report", ({ report }) => report.exit !== null);
  });

  it("does not take one for its own that came while another one worked there, also when that is gone", async () => {
    const { cwd } = place;
    const client = await startCodex("ask");
    await until(() => ofKind(client, "turn-ended").length > 0, "its file is followed");
    const other = spawn(process.execPath, ["-e", "setTimeout(() => {}, 100_000)"], { argv0: "codex", cwd });
    try {
      writeFileSync(join(cwd, "new"), "");
      const seenAt = Date.now();
      // It is looked for every second.
      await client.hear("report", ({ report }) => report.at > seenAt + 3000);
    } finally {
      other.kill("SIGKILL");
    }
    const goneAt = Date.now();
    await client.hear("report", ({ report }) => report.at > goneAt + 3000);
    expect(ofKind(client, "session").map(({ id }) => id)).not.toContain("another");
    writeFileSync(join(cwd, "stop"), "");
    await client.hear("report", ({ report }) => report.exit !== null);
  });

  it("knows the file by the conversation its stream names, also where others work in the same folder", async () => {
    const { cwd } = place;
    const other = spawn(process.execPath, ["-e", "setTimeout(() => {}, 100_000)"], { argv0: "codex", cwd });
    try {
      const client = await startCodex("exec", "--json", "go");
      await until(() => eyeOf(client, "session-file")?.sees === true, "its file is followed");
      writeFileSync(join(cwd, "stop"), "");
      await client.hear("report", ({ report }) => report.exit !== null);
      // The best eye has the first word, also about the end.
      expect(ofKind(client, "turn-ended")).toEqual([
        { kind: "turn-ended", outcome: "failure", reason: "context limit" },
      ]);
    } finally {
      other.kill("SIGKILL");
    }
  });
});
