import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createFrameReader,
  type FromHolder,
  type HolderFile,
  type HolderFiles,
  holderFiles,
  identityOf,
  jsonFrame,
  type ToHolder,
} from "@rouse/holder";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { makeProgram, type Program } from "../../../../../holder/src/output/make-program.test-support.ts";
import { openOutputRing } from "../../../../../holder/src/output/output-ring.ts";
import { outputHeader } from "../../../../../holder/src/protocol/frames.ts";
import { readMessage } from "../../../../../holder/src/protocol/messages.ts";
import { healthy } from "../../show/sample.test-support.ts";

const understood = (value: unknown): ToHolder => readMessage(value) ?? expect.fail("no message to a holder");

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let folder = "";
let program: Program;
let home = "";
let files: HolderFiles;
let ends: (() => void)[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rouse-logs-program-"));
  program = await makeProgram(
    import.meta.dirname,
    folder,
    `import { runCli } from "../../run-cli.ts";
     process.exitCode = await runCli(process.argv.slice(2), async () => undefined);`,
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rouse-logs-"));
  files = holderFiles(home, "worker-1");
  mkdirSync(files.folder, { recursive: true });
});
afterEach(() => {
  for (const end of ends) end();
  ends = [];
  rmSync(home, { recursive: true });
});

const start = (words: string[], env: Record<string, string> = {}) =>
  program(["logs", ...words], { PATH: process.env["PATH"], HOME: home, ROUSE_HOME: home, ...env });

async function finish(child: ReturnType<Program>) {
  const texts = { out: [] as Buffer[], err: "" };
  child.stdout.on("data", (chunk) => texts.out.push(chunk));
  child.stderr.on("data", (chunk) => (texts.err += chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out: Buffer.concat(texts.out).toString("latin1"), err: texts.err };
}

const logs = (words: string[], env?: Record<string, string>) => finish(start(words, env));

async function wrote(chunks: readonly (readonly [text: string, at: number])[], keepBytes = 1_000_000): Promise<void> {
  const ring = openOutputRing(files, { keepBytes, keepHistory: true });
  for (const [text, at] of chunks) ring.write(Buffer.from(text, "latin1"), at);
  await ring.close();
}

const at = Date.parse("2026-02-05T10:30:00Z");
const colourful = "\x1b[31mone\x1b[0m\n\x1b]0;title\x07two\r\n10%\r100%\n\xff\x9b\nlast";

describe("rouse logs", () => {
  it("prints what is kept, safe for any terminal, without a daemon or a holder", async () => {
    await wrote([[colourful, at]]);
    const { code, out, err } = await logs(["worker-1"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(Buffer.from(out, "latin1").toString()).toBe("one\ntwo\n100%\n\ufffd\ufffd\nlast\n");
    expect(await logs(["worker-1", "--raw"])).toEqual({ code: 0, out: colourful, err: "" });
  });

  it("prints only the last lines with -n", async () => {
    await wrote([["a\nb\nc\n", at]]);
    expect((await logs(["worker-1", "-n", "2"])).out).toBe("b\nc\n");
    expect((await logs(["worker-1", "--tail", "2", "--raw"])).out).toBe("b\nc\n");
    expect((await logs(["worker-1", "-n", "9", "--raw"])).out).toBe("a\nb\nc\n");
    expect((await logs(["worker-1", "-n", "9"])).out).toBe("a\nb\nc\n");
    expect((await logs(["worker-1", "-n", "0"])).out).toBe("");
  });

  it("prints only what is newer with --since, and says when with -t and --json", async () => {
    await wrote([
      ["old\n", at],
      ["new\n", at + 60_000],
      ["newest\n", Date.now()],
    ]);
    expect((await logs(["worker-1", "--since", "2026-02-05T10:30:30Z"])).out).toBe("new\nnewest\n");
    expect((await logs(["worker-1", "--since", "10m"])).out).toBe("newest\n");
    expect((await logs(["worker-1", "-t"])).out).toMatch(
      /^2026-02-05T10:30:00.000Z old\n2026-02-05T10:31:00.000Z new\n/,
    );
    const documents = (await logs(["worker-1", "--json"])).out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    expect(documents.slice(0, 2)).toEqual([
      { at: "2026-02-05T10:30:00.000Z", offset: 0, text: "old" },
      { at: "2026-02-05T10:31:00.000Z", offset: 4, text: "new" },
    ]);
  });

  it("prints all of a large log, and the end of one that was longer than is kept", async () => {
    const lines = Array.from({ length: 300_000 }, (_, index) => `line ${index}\n`);
    await wrote([[lines.join(""), at]], 3_000_000);
    const { out } = await logs(["worker-1"]);
    expect(out.endsWith("line 299998\nline 299999\n")).toBe(true);
    expect(out.length).toBe(3_000_000);
  });

  it("says which agents have no output here", async () => {
    expect(await logs(["nobody"])).toMatchObject({ code: 5, out: "" });
    expect(await logs(["../holders/worker-1"])).toMatchObject({ code: 5, out: "" });
    const server = createHttpServer((request, response) => {
      const known = request.url === "/api/v1/agents/beats-only";
      const problem = { code: "agent-unknown", detail: "no such agent", retryable: false };
      response
        .writeHead(known ? 200 : 404)
        .end(JSON.stringify(known ? { ...healthy, agentId: "beats-only" } : problem));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ends.push(() => server.close());
    const env = {
      ROUSE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      ROUSE_TOKEN: "t0ken-t0ken-t0ken",
    };
    expect((await logs(["nobody"], env)).code).toBe(5);
    const known = await logs(["beats-only"], env);
    expect(known).toMatchObject({ code: 1, out: "" });
    expect(known.err).toContain("rouse spawn");
    expect(await logs(["worker-1"])).toEqual({ code: 0, out: "", err: "" });
  });

  it("refuses what it does not understand, and its help fits 80 columns", async () => {
    const wrong = [
      ["--since", "yesterday"],
      ["-n", "-1"],
      ["--raw", "--json"],
      ["--json", "-t"],
    ];
    for (const words of wrong) expect((await logs(["worker-1", ...words])).code, words.join(" ")).toBe(2);
    const { out } = await logs(["--help"]);
    expect(out).toContain("--follow");
    for (const line of out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
  });
});

describe("rouse logs -f", () => {
  /** A holder in this process: its socket, and the file that says where it is. */
  async function hold(take: (message: ToHolder, socket: Socket) => void): Promise<void> {
    const socketPath = join(home, "socket");
    const server: Server = createServer((socket) => {
      ends.push(() => socket.destroy());
      socket.on("error", () => undefined);
      const reader = createFrameReader((frame) => frame.kind === "json" && take(understood(frame.value), socket));
      socket.on("data", reader);
    });
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    ends.push(() => server.close());
    const holder = identityOf(process.pid);
    if (holder === null) throw new Error("this process is not there");
    const file: HolderFile = {
      agentId: "worker-1",
      incarnation: 1,
      holder,
      agent: null,
      socket: socketPath,
      tier: "marked",
      cgroup: null,
      mark: "m",
      startedAt: at,
    };
    writeFileSync(files.holder, JSON.stringify(file));
  }

  const output = (socket: Socket, offset: number, text: string) =>
    socket.write(Buffer.concat([outputHeader(offset, text.length), Buffer.from(text)]));
  const say = (socket: Socket, message: FromHolder) => socket.write(jsonFrame(message));
  const exit = { code: 3, signal: null, cause: "by-itself" } as const;

  it("goes on with what comes, each byte once, says what was lost, and ends when the agent does", async () => {
    await wrote([["kept\npart", at]]);
    const asked: ToHolder[] = [];
    await hold((message, socket) => {
      asked.push(message);
      output(socket, 5, "part of a line\n");
      output(socket, 20, "more\n");
      output(socket, 100, "\x1b[2Jlater\n");
      say(socket, { say: "exited", exit });
      output(socket, 111, "last words\n");
      say(socket, { say: "end", at: 122 });
    });
    const { code, out, err } = await logs(["worker-1", "-f"]);
    expect(asked).toEqual([{ say: "read", from: 9, follow: true }]);
    expect(out).toBe("kept\npart of a line\nmore\nlater\nlast words\n");
    expect(err).toContain("75 bytes of output are missing here");
    expect(err).toContain("worker-1 has ended with 3");
    expect(code).toBe(0);
  });

  it("prints the rest from the files when the holder dies without a word", async () => {
    await wrote([["before\n", at]]);
    await hold(async (_, socket) => {
      await wrote([["after\n", at + 1]]);
      socket.destroy();
    });
    const { code, out, err } = await logs(["worker-1", "-f"]);
    expect({ code, out }).toEqual({ code: 0, out: "before\nafter\n" });
    expect(err).toContain("nobody saw how");
  });

  it("ends when the agent ended before it asked, though the holder is still there", async () => {
    await wrote([["all\n", at]]);
    await hold((_, socket) => void say(socket, { say: "end", at: 4 }));
    writeFileSync(files.exit, JSON.stringify({ incarnation: 1, at, exit }));
    const { code, out, err } = await logs(["worker-1", "-f"]);
    expect({ code, out }).toEqual({ code: 0, out: "all\n" });
    expect(err).toContain("worker-1 has ended with 3");
  });

  it("prints what is kept of an agent that has ended, and how it ended", async () => {
    await wrote([["done\n", at]]);
    const stopped = { code: null, signal: "SIGTERM", cause: "stopped" };
    writeFileSync(files.exit, JSON.stringify({ incarnation: 1, at, exit: stopped }));
    const { out, err } = await logs(["worker-1", "-f", "-n", "1"]);
    expect(out).toBe("done\n");
    expect(err).toContain("worker-1 was stopped by Rouse (ended by SIGTERM)");
  });

  it("shows a question that waits at the end of a line", async () => {
    await hold((_, socket) => void output(socket, 0, "Continue? [y/N] "));
    const child = start(["worker-1", "-f"]);
    const done = finish(child);
    child.stdout.once("data", () => child.kill("SIGINT"));
    expect(await done).toMatchObject({ code: 130, out: "Continue? [y/N] \n" });
  });

  it("ends quietly on Ctrl-C and when nobody reads any more, however much comes", async () => {
    await hold((_, socket) => {
      let offset = 0;
      const pour = () => {
        while (!socket.destroyed) {
          offset += 65_536;
          if (!output(socket, offset - 65_536, "0123456789abcde\n".repeat(4096))) break;
        }
      };
      socket.on("drain", pour);
      pour();
    });
    const child = start(["worker-1", "-f"]);
    const done = finish(child);
    child.stdout.once("data", () => child.kill("SIGINT"));
    expect(await done).toMatchObject({ code: 130, err: "" });
    const other = start(["worker-1", "-f", "--raw"]);
    const otherDone = finish(other);
    other.stdout.once("data", () => other.stdout.destroy());
    expect(await otherDone).toMatchObject({ code: 0, err: "" });
  });
});
