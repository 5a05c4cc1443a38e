import { tmpdir } from "node:os";
import { describe, expect, it, vi } from "vitest";
import type { AgentProcess, Ended, Start } from "./agent-process.ts";
import { openPipes } from "./open-pipes.ts";
import { openTerminal } from "./open-terminal.ts";

vi.setConfig({ testTimeout: 120_000 });

const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" };

const startOf = (command: readonly string[], changes: Partial<Start> = {}): Start => ({
  command,
  cwd: tmpdir(),
  env,
  cols: 80,
  rows: 24,
  spawnInside: (fork) => fork(),
  ...changes,
});

interface Told {
  readonly out: string;
  readonly err: string;
  readonly ended: Ended;
}

function listen(open: (ears: Parameters<typeof openTerminal>[1]) => AgentProcess | Promise<AgentProcess>) {
  const heard = { out: [] as Buffer[], err: [] as Buffer[] };
  let over = false;
  let agent: AgentProcess | undefined;
  const told = new Promise<Told>((resolve, reject) => {
    const opened = open({
      wrote(stream, bytes) {
        if (over) reject(new Error("output after the end"));
        heard[stream].push(bytes);
      },
      ended(ended) {
        over = true;
        resolve({ out: Buffer.concat(heard.out).toString(), err: Buffer.concat(heard.err).toString(), ended });
      },
    });
    if (opened instanceof Promise) opened.then((it) => (agent = it), reject);
    else agent = opened;
  });
  return { told, agent: () => agent as AgentProcess };
}

const inTerminal = (script: string, changes?: Partial<Start>) =>
  listen((ears) => openTerminal(startOf(["sh", "-c", script], changes), ears));
const alone = { foreground: false, takesMessages: false };
const inPipes = (script: string) => listen((ears) => openPipes(startOf(["sh", "-c", script]), alone, ears));

describe("an agent in a terminal", () => {
  it("never loses the end of what it wrote before it ended", async () => {
    const script = "head -c 200000 /dev/zero | tr '\\0' x; printf the-end";
    for (let round = 0; round < 60; round++) {
      const { out, ended } = await inTerminal(script).told;
      expect(out.length, `round ${round}`).toBe(200_007);
      expect(out.endsWith("xthe-end"), `round ${round}`).toBe(true);
      expect(ended).toEqual({ code: 0, signal: null });
    }
  });

  it("loses nothing either when whoever shows it was not ready to", async () => {
    const { told, agent } = inTerminal("head -c 3000 /dev/zero | tr '\\0' x; printf the-end");
    agent().pause();
    const { out } = await told;
    expect(out.length).toBe(3007);
  });

  it("is heard byte for byte, whatever the bytes are", async () => {
    const { out } = await inTerminal("printf '\\377\\376\\033[1mx'").told;
    expect(out).toBe(Buffer.from([0xff, 0xfe, 0x1b, 0x5b, 0x31, 0x6d, 0x78]).toString());
  });

  it("ends with the code or the signal it ended with", async () => {
    expect((await inTerminal("exit 3").told).ended).toEqual({ code: 3, signal: null });
    expect((await inTerminal("kill -9 $$").told).ended).toEqual({ code: null, signal: "SIGKILL" });
  });

  it("can be typed to, sees its size, and has a terminal's name and no other variables than its own", async () => {
    const { told, agent } = inTerminal('read x; echo "got $x"; stty size; echo "$TERM $HOME."', { cols: 91, rows: 17 });
    agent().write(Buffer.from("hello\r"));
    const { out } = await told;
    expect(out).toContain("got hello\r\n17 91\r\nxterm-256color .");
  });

  it("is over when it is over, also when a child of its own goes on with its terminal", async () => {
    const { out, ended } = await inTerminal("trap '' HUP; sleep 5 & echo started; exit 0").told;
    expect(ended.code).toBe(0);
    expect(out).toBe("started\r\n");
  });
});

describe("an agent between pipes", () => {
  it("is heard on both of them, and ends with its code or signal", async () => {
    expect(await inPipes("echo out; echo err >&2; exit 4").told).toEqual({
      out: "out\n",
      err: "err\n",
      ended: { code: 4, signal: null },
    });
    expect((await inPipes("kill -TERM $$").told).ended).toEqual({ code: null, signal: "SIGTERM" });
  });

  it("is over when it is over, also when a child of its own keeps the pipes", async () => {
    const { out, ended } = await inPipes("sleep 30 & echo $!; exit 0").told;
    process.kill(Number(out));
    expect(ended.code).toBe(0);
  });

  it("has nothing to read", async () => {
    expect((await inPipes("cat; echo done").told).out).toBe("done\n");
  });

  it("cannot be a command that cannot be run", async () => {
    const missing = openPipes(startOf(["/no/such/command"]), alone, { wrote: () => {}, ended: () => {} });
    await expect(missing).rejects.toMatchObject({ code: "command-not-found" });
  });
});
