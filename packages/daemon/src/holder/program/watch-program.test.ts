import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HolderReport, Sight } from "@rouse/contract";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Client, until, type World } from "../holding.test-support.ts";
import type { HolderFile, Spec } from "../spec.ts";
import { worldOfEach } from "../world-of-each.test-support.ts";
import { makeClaude } from "./make-claude.test-support.ts";
import { makeCodex } from "./make-codex.test-support.ts";
import { makeOpencode } from "./make-opencode.test-support.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: World;
worldOfEach((fresh) => {
  world = fresh;
});
afterEach(() => world.remove());

const reportsOf = ({ heard }: Client): HolderReport[] =>
  heard.flatMap((message) => (message.say === "report" ? [message.report] : []));
const sightsOf = (client: Client): Sight[] => reportsOf(client).flatMap(({ sights }) => sights);
const ofKind = <K extends Sight["kind"]>(client: Client, kind: K) =>
  sightsOf(client).filter((sight): sight is Extract<Sight, { kind: K }> => sight.kind === kind);
const eyeOf = (client: Client, wanted: string) =>
  reportsOf(client)
    .at(-1)
    ?.eyes?.find(({ eye }) => eye === wanted);

function workFolder(): string {
  const folder = join(realpathSync(world.home), "work");
  mkdirSync(folder, { recursive: true });
  return folder;
}

async function watched(held: HolderFile): Promise<Client> {
  const client = await world.connect(held);
  client.say({ say: "watch", epoch: 1, after: 0 });
  return client;
}

const startClaude = async (cwd: string, ...args: string[]): Promise<Client> => {
  const command = [process.execPath, makeClaude(world.home), ...args];
  return watched(await world.start(world.spec(command, { cwd, family: "claude-code" })));
};

const startCodex = async (cwd: string, ...args: string[]): Promise<Client> => {
  const command = [process.execPath, makeCodex(world.home), ...args];
  const spec = world.spec(command, { cwd, family: "codex", structured: args.includes("--json") });
  return watched(await world.start({ ...spec, env: { ...spec.env, CODEX_HOME: join(world.home, "codex") } }));
};

/** A loop of a shell that calls the program, as many people's agents are. */
const startScript = async (cwd: string): Promise<Client> => {
  const script = join(world.home, "agent-loop.sh");
  writeFileSync(script, `#!/bin/sh\n${process.execPath} ${makeClaude(world.home)} -p x\nsleep 100\n`);
  return watched(await world.start(world.spec(["sh", script], { cwd })));
};

function contain(client: Client, how: "pause" | "let-go", decidedAt: number) {
  const order = { kind: "contain", how, reason: "handed over", decidedAt, lastsMs: 60_000 } as const;
  client.say({ say: "order", key: how, incarnation: 1, epoch: 1, order });
  return client.hear("carried-out", (message) => message.key === how);
}

/** How many calls were over when the next was held. */
async function holdCalls(client: Client): Promise<number> {
  expect((await contain(client, "pause", 1)).outcome).toEqual({ kind: "contained" });
  let ended = -1;
  let since = Date.now();
  // A call that nobody holds takes milliseconds.
  await until(() => {
    const now = ofKind(client, "tool-ended").length;
    if (now !== ended) since = Date.now();
    ended = now;
    return Date.now() - since > 1000;
  }, "a call is held");
  return ended;
}

describe("a holder of Claude Code", () => {
  it("sees every call once through two eyes, gives a nudge by a hook, and sees it read", async () => {
    const client = await startClaude(workFolder());
    await until(() => ofKind(client, "tool-ended").length >= 60, "calls are seen");
    await until(() => eyeOf(client, "session-file")?.sees === true, "its file is followed");
    expect(eyeOf(client, "hooks")).toEqual({ eye: "hooks", sees: true, because: null });
    expect(eyeOf(client, "stream")).toEqual({ eye: "stream", sees: false, because: "not asked for" });
    expect(reportsOf(client).at(-1)?.input).toBe("hook");
    const order = { kind: "nudge", text: "FACT: The same call 5 times.", notAfter: Date.now() + 60_000 } as const;
    client.say({ say: "order", key: "n1", incarnation: 1, epoch: 1, order });
    const { outcome } = await client.hear("carried-out");
    expect(outcome).toEqual({ kind: "sent", channel: "hook", echoed: false });
    await client.hear("report", ({ report }) => report.exit !== null);
    expect(ofKind(client, "nudge-read").map(({ nudge }) => nudge)).toContain("n1");
    const calls = ofKind(client, "tool-started").map(({ id }) => id);
    expect(new Set(calls).size).toBe(calls.length);
    expect(ofKind(client, "tool-ended").map(({ id }) => id)).toEqual(calls);
    expect(ofKind(client, "turn-ended")).toHaveLength(1);
    expect(ofKind(client, "said")).toHaveLength(1);
    const hooks = join(world.files().plugin, "hooks/hooks.json");
    expect(JSON.parse(readFileSync(hooks, "utf8"))).toEqual({ hooks: {} });
    // Each was told in its time: whatever is put off by what follows comes in one heap.
    const heaps = reportsOf(client).map(({ sights }) => sights.length);
    expect(Math.max(...heaps)).toBeLessThan(0.75 * heaps.reduce((sum, one) => sum + one, 0));
  });

  it("holds its calls while its tools are withheld, and lets the call that waits go on when it is let go", async () => {
    const client = await startClaude(workFolder(), "-p", "x");
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    const ended = await holdCalls(client);
    expect((await contain(client, "let-go", 2)).outcome).toEqual({ kind: "let-go" });
    await until(() => ofKind(client, "tool-ended").length > ended + 3, "its calls go on");
  });

  it("does not give a nudge that was withdrawn while it waited for a hook", async () => {
    const client = await startClaude(workFolder(), "-p", "x");
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    const ended = await holdCalls(client);
    const nudge = (notAfter: number) => {
      const order = { kind: "nudge", text: "FACT: The same call 5 times.", notAfter } as const;
      client.say({ say: "order", key: "n1", incarnation: 1, epoch: 1, order });
    };
    nudge(Date.now() + 60_000);
    nudge(0);
    const { outcome } = await client.hear("carried-out", ({ key }) => key === "n1");
    expect(outcome).toEqual({ kind: "not-sent", because: "expired" });
    await contain(client, "let-go", 2);
    // It ends as soon as words come to it.
    await until(() => ofKind(client, "tool-ended").length > ended + 3, "its calls go on");
  });

  it("types into it once its screen shows that its turn was broken off, which no hook tells", async () => {
    const client = await startClaude(workFolder(), "broken-off");
    await client.hear("report", ({ report }) => report.input === "hook");
    const rests = (sight: Sight): boolean => sight.kind === "asks" && sight.what === "prompt";
    const { report } = await client.hear("report", ({ report }) => report.sights.some(rests));
    expect(report.input).toBe("terminal");
  });

  it("sees it by its file alone where it runs no hooks, and says why", async () => {
    const client = await startClaude(workFolder(), "--bare");
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    expect(eyeOf(client, "hooks")).toEqual({ eye: "hooks", sees: false, because: "it is started with --bare" });
    expect(reportsOf(client).at(-1)?.input).toBe("terminal");
  });
});

describe("a holder of opencode", () => {
  const startOpencode = async (cwd: string, more: Partial<Spec> = {}): Promise<Client> => {
    const command = [process.execPath, makeOpencode(world.home)];
    return watched(await world.start(world.spec(command, { cwd, family: "opencode", ...more })));
  };

  it("sees its calls by the log it keeps, and follows it into another conversation", async () => {
    const cwd = workFolder();
    const client = await startOpencode(cwd);
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    expect(eyeOf(client, "session-file")).toEqual({ eye: "session-file", sees: true, because: null });
    expect(ofKind(client, "session").map(({ id }) => id)).toEqual(["ses_first"]);
    writeFileSync(join(cwd, "next"), "");
    await until(() => ofKind(client, "tool-ended").length >= 4, "a call of the other is seen");
    expect(ofKind(client, "session").map(({ id }) => id)).toEqual(["ses_first", "ses_second"]);
  });

  it.each(["next-by-tool", "next-beside"])("does not take another one's conversation for its own: %s", async (how) => {
    const cwd = workFolder();
    const client = await startOpencode(cwd);
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    writeFileSync(join(cwd, how), "");
    const since = Date.now();
    await client.hear("report", ({ report }) => report.at > since + 2500);
    expect(ofKind(client, "session").map(({ id }) => id)).toEqual(["ses_first"]);
  });

  it("tells what it asks after the call that it asks for, as it happened", async () => {
    const cwd = workFolder();
    const client = await startOpencode(cwd);
    await until(() => eyeOf(client, "session-file")?.sees === true, "its log is followed");
    writeFileSync(join(cwd, "ask"), "");
    const isAsked = (sight: Sight): boolean => sight.kind === "asks" && sight.what === "permission";
    await until(() => sightsOf(client).filter(isAsked).length >= 6, "it asked several times");
    const told = sightsOf(client).flatMap((sight) =>
      isAsked(sight) || (sight.kind === "tool-started" && sight.id.startsWith("asked")) ? [sight.kind] : [],
    );
    expect(told.slice(0, 12)).toEqual(Array.from({ length: 6 }, () => ["tool-started", "asks"]).flat());
  });

  it("sees a nudge read when its model is asked with it, not when its screen shows it", async () => {
    const cwd = workFolder();
    const client = await startOpencode(cwd);
    await until(() => eyeOf(client, "session-file")?.sees === true, "its log is followed");
    const order = { kind: "nudge", text: "FACT: The same call 5 times.", notAfter: Date.now() + 60_000 } as const;
    client.say({ say: "order", key: "n1", incarnation: 1, epoch: 1, order });
    const { outcome } = await client.hear("carried-out");
    expect(outcome).toEqual({ kind: "sent", channel: "terminal", echoed: true });
    const sentAt = Date.now();
    await client.hear("report", ({ report }) => report.at > sentAt + 1500);
    expect(ofKind(client, "nudge-read")).toEqual([]);
    writeFileSync(join(cwd, "go"), "");
    await until(() => ofKind(client, "nudge-read").length > 0, "it is read");
    expect(ofKind(client, "nudge-read")).toEqual([{ kind: "nudge-read", nudge: "n1" }]);
  });

  it("that goes on with a conversation tells it so at its input, as soon as that shows", async () => {
    const cwd = workFolder();
    writeFileSync(join(cwd, "go"), "");
    const client = await startOpencode(cwd, { opening: "You were stopped and started again." });
    await until(() => ofKind(client, "nudge-read").length > 0, "its model is asked with it");
  });
});

describe("a holder of Codex", () => {
  it("reads the file of one that was over before its process was looked at", async () => {
    const client = await startCodex(workFolder(), "exec", "go");
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
      const cwd = workFolder();
      const client = await startCodex(cwd, how);
      await until(() => ofKind(client, shown).length > 0, "what it shows is told");
      await until(() => ofKind(client, "turn-ended").length > 0, "the end of its turn is told");
      const told = sightsOf(client).flatMap(({ kind }) => (kind === shown || kind === "turn-ended" ? [kind] : []));
      expect(told).toEqual(["turn-ended", shown]);
      writeFileSync(join(cwd, "stop"), "");
    },
  );

  it("knows the file by the conversation its stream names, also where others work in the same folder", async () => {
    const cwd = workFolder();
    const other = spawn(process.execPath, ["-e", "setTimeout(() => {}, 100_000)"], { argv0: "codex", cwd });
    try {
      const client = await startCodex(cwd, "exec", "--json", "go");
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

describe("a holder of a script", () => {
  it("finds the program that the script runs, and the file which that keeps", async () => {
    const client = await startScript(workFolder());
    await until(() => ofKind(client, "tool-ended").length >= 3, "calls are seen");
    expect(reportsOf(client).at(-1)).toMatchObject({ family: "claude-code" });
    expect(eyeOf(client, "hooks")).toEqual({ eye: "hooks", sees: false, because: "it is started by a script" });
  });

  it("stays blind, and says why, where another one works in the same folder", async () => {
    const cwd = workFolder();
    const other = spawn(process.execPath, ["-e", "setTimeout(() => {}, 100_000)"], { argv0: "claude", cwd });
    try {
      const client = await startScript(cwd);
      await until(() => eyeOf(client, "session-file")?.because === "others work in the same folder", "it says why");
      expect(ofKind(client, "tool-started")).toEqual([]);
    } finally {
      other.kill("SIGKILL");
    }
  });

  const nudge = async (client: Client) => {
    const order = { kind: "nudge", text: "touch typed", notAfter: Date.now() + 60_000 } as const;
    client.say({ say: "order", key: "n1", incarnation: 1, epoch: 1, order });
    return (await client.hear("carried-out")).outcome;
  };
  const shell = (before: string): readonly string[] => {
    const script = join(world.home, "agent-loop.sh");
    writeFileSync(script, `${before}\nPS1='> ' exec bash --norc --noprofile -i\n`);
    return ["bash", script];
  };
  const aider = (ms: number): string => `bash -c "exec -a aider '${process.execPath}' -e 'setTimeout(Date, ${ms})'"`;
  const familyOf = (client: Client) => reportsOf(client).at(-1)?.family;

  it("types nothing into a shell that is left when the program is over", async () => {
    const cwd = workFolder();
    const go = join(world.home, "go");
    const waits = `const at = setInterval(() => require("fs").existsSync("${go}") && clearInterval(at), 50)`;
    writeFileSync(join(world.home, "waits.cjs"), waits);
    const program = `bash -c "exec -a aider '${process.execPath}' '${join(world.home, "waits.cjs")}'"`;
    const client = await watched(await world.start(world.spec(shell(program), { cwd })));
    await until(() => familyOf(client) === "aider", "the program is known");
    writeFileSync(go, "");
    await until(() => familyOf(client) === "generic", "it is known to be over");
    expect(await nudge(client)).toEqual({ kind: "not-sent", because: "no-input" });
    expect(existsSync(join(cwd, "typed"))).toBe(false);
  });

  it("types nothing into a shell while the program is in the background", async () => {
    const cwd = workFolder();
    const client = await watched(await world.start(world.spec(shell(`set -m; ${aider(100_000)} &`), { cwd })));
    await until(() => familyOf(client) === "aider", "the program is known");
    expect(await nudge(client)).toEqual({ kind: "not-sent", because: "no-input" });
    expect(existsSync(join(cwd, "typed"))).toBe(false);
  });

  it("does not take a shell that is called like a program for one", async () => {
    const script = `PS1='> ' exec -a aider bash --norc --noprofile -i`;
    const client = await watched(await world.start(world.spec(["bash", "-c", script], { cwd: workFolder() })));
    const since = Date.now();
    await client.hear("report", ({ report }) => report.at > since + 2500);
    expect(familyOf(client)).toBe("generic");
    expect(await nudge(client)).toEqual({ kind: "not-sent", because: "no-input" });
  });
});
