import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { makeProgram } from "../output/make-program.test-support.ts";
import { killHard, nurseryOfEach, onLinux, patient } from "./real-processes.test-support.ts";
import {
  createByteCount,
  createNetworkWatch,
  type NetworkFacts,
  type NetworkWatch,
  parseListing,
  parseTable,
} from "./watch-network.ts";

const isHere = (command: string): boolean => spawnSync("sh", ["-c", `command -v ${command}`]).status === 0;
const countsHere = onLinux && (await createByteCount()(new Set([1]))) !== null;
if (!countsHere) console.warn("NOT RUN: bytes of connections: ss (iproute2) is not here");

/** Programs that read what comes, each in its own way. */
const clients: Record<string, (url: string) => [string, ...string[]]> = {
  node: (url) => ["node", "-e", `require("http").get("${url}", (answer) => answer.resume())`],
  curl: (url) => ["curl", "-sN", "-o", "/dev/null", url],
  python3: (url) => [
    "python3",
    "-c",
    `import urllib.request as u\nanswer = u.urlopen("${url}")\nwhile answer.read(1000): pass\nimport time\ntime.sleep(1000)`,
  ],
};

describe.skipIf(!onLinux)("connections", patient, () => {
  const nursery = nurseryOfEach();
  let server: Server;
  let answers: ServerResponse[];
  let agents: ChildProcess[];
  let dripping: NodeJS.Timeout;
  beforeEach(async () => {
    answers = [];
    agents = [];
    server = createServer((_, answer) => {
      answers.push(answer);
      answer.flushHeaders();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterEach(() => {
    clearInterval(dripping);
    for (const { pid } of agents) if (pid !== undefined) killHard(pid);
    server.closeAllConnections();
    server.close();
  });

  const port = () => (server.address() as AddressInfo).port;

  /** An agent whose request has arrived. */
  async function start([command, ...args]: readonly [string, ...string[]]): Promise<number> {
    const before = answers.length;
    const child = spawn(command, args, { stdio: "ignore" });
    agents.push(child);
    await vi.waitFor(() => expect(answers.length).toBeGreaterThan(before), { timeout: 20_000 });
    return child.pid ?? 0;
  }

  /** 20 KB a second to everybody. */
  function drip(): void {
    dripping = setInterval(() => answers.map((each) => each.write(Buffer.alloc(2000))), 100);
  }

  async function lookUntil(
    watch: NetworkWatch,
    pids: number[],
    isWanted: (facts: NetworkFacts) => boolean,
  ): Promise<NetworkFacts> {
    let last = -1;
    return vi.waitFor(
      async () => {
        const facts = (await watch.look(pids)) as NetworkFacts;
        expect(facts.bytes).toBeGreaterThanOrEqual(last);
        last = facts.bytes;
        if (!isWanted(facts)) throw new Error(`never came; last ${JSON.stringify(facts)}`);
        return facts;
      },
      { timeout: 20_000, interval: 50 },
    );
  }

  /** Two looks that agree: what was on its way has arrived. */
  async function settled(watch: NetworkWatch, pids: number[]): Promise<NetworkFacts> {
    let before = -1;
    return lookUntil(watch, pids, ({ bytes }) => {
      const same = bytes === before;
      before = bytes;
      return same;
    });
  }

  describe.for(Object.keys(clients))("of %s", (name) => {
    const client = () => clients[name]?.(`http://127.0.0.1:${port()}/`) ?? ["false"];

    it.skipIf(!countsHere || !isHere(name))("are seen with the bytes of a slow download", async () => {
      const agent = await start(client() as [string]);
      const watch = createNetworkWatch(null);
      const { bytes } = await settled(watch, [agent]);
      drip();
      const { sockets } = await lookUntil(watch, [agent], (facts) => facts.bytes > bytes + 10_000);
      expect(sockets).toBe(1);
    });

    it.skipIf(!isHere(name))(
      "are seen to move where nobody counts bytes, and to rest while nothing comes",
      async () => {
        const agent = await start(client() as [string]);
        const watch = createNetworkWatch(null, createByteCount([]));
        const { bytes } = await settled(watch, [agent]);
        for (let look = 0; look < 5; look++) expect(await watch.look([agent])).toEqual({ sockets: 1, bytes });
        drip();
        await lookUntil(watch, [agent], (facts) => facts.bytes > bytes + 1);
      },
    );
  });

  it.skipIf(!countsHere)(
    "of an open request rest while nothing comes, and what is closed stays in the sum",
    async () => {
      const agent = await start(clients["node"]?.(`http://127.0.0.1:${port()}/`) ?? ["false"]);
      const watch = createNetworkWatch(null);
      const { bytes } = await settled(watch, [agent]);
      for (let look = 0; look < 3; look++) expect(await watch.look([agent])).toEqual({ sockets: 1, bytes });
      answers[0]?.write(Buffer.alloc(50_000));
      const more = await lookUntil(watch, [agent], (facts) => facts.bytes > bytes + 49_000);
      agents.map(({ pid = 0 }) => killHard(pid));
      expect(await lookUntil(watch, [agent], ({ sockets }) => sockets === 0)).toEqual({
        sockets: 0,
        bytes: more.bytes,
      });
    },
  );

  it("to Rouse itself are left out, by whichever of its addresses, and others beside them are not", async () => {
    const another = createServer((_, answer) => answer.flushHeaders()).listen(0, "127.0.0.1");
    await once(another, "listening");
    const get = (host: string, to: number) => `require("http").get({ host: "${host}", port: ${to} });`;
    const beside = get("127.0.0.1", (another.address() as AddressInfo).port);
    const agent = await start(["node", "-e", get("::ffff:127.0.0.1", port()) + get("127.0.0.1", port()) + beside]);
    await vi.waitFor(() => expect(answers).toHaveLength(2), { timeout: 20_000 });
    await lookUntil(createNetworkWatch(null), [agent], ({ sockets }) => sockets === 3);
    for (const host of ["127.0.0.1", "localhost"])
      expect(await createNetworkWatch(`http://${host}:${port()}`).look([agent])).toMatchObject({ sockets: 1 });
    expect(await createNetworkWatch(`http://[::1]:${port()}`).look([agent])).toMatchObject({ sockets: 3 });
    another.closeAllConnections();
    another.close();
  });

  it("are unknown when a process of the tree is hidden from us", async () => {
    const agent = await start(clients["node"]?.(`http://127.0.0.1:${port()}/`) ?? ["false"]);
    // One of another user; root may look at everybody.
    const program = await makeProgram(
      import.meta.dirname,
      nursery.folder,
      `import { createNetworkWatch } from "./watch-network.ts";
       const isRoot = process.getuid?.() === 0;
       if (isRoot) { process.setgid?.(65534); process.setuid?.(65534); }
       console.log(JSON.stringify(await createNetworkWatch(null).look([isRoot ? ${agent} : 1])));`,
    );
    const looker = program();
    const [said] = await once(looker.stdout, "data");
    expect(JSON.parse(String(said))).toBeNull();
  });

  it.skipIf(!isHere("python3"))("are unknown when more is open than could be looked at", async () => {
    const many = `import os, resource, time, urllib.request as u
resource.setrlimit(resource.RLIMIT_NOFILE, (5000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
for _ in range(4500): os.dup(0)
u.urlopen("http://127.0.0.1:${port()}/").read()`;
    const agent = await start(["python3", "-c", many]);
    expect(await createNetworkWatch(null).look([agent])).toBeNull();
  });

  it("of nobody are none", async () => {
    expect(await createNetworkWatch("no address").look([])).toEqual({ sockets: 0, bytes: 0 });
  });
});

describe("the kernel's tables", () => {
  const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
  const line = (inode: number, state: string, remote: string, rest: string, timer = "00:00000000") =>
    `   0: 0100007F:CB54 ${remote} ${state} 00000000:00000000 ${timer} 00000000     0        0 ${inode} 2 0000 ${rest}`;
  const parse = (...lines: string[]) => parseTable([header, ...lines].join("\n"), new Set(["7"]));

  it("are read for connections of the tree alone, without those that only listen or have no other end", () => {
    expect(
      parse(
        line(7, "01", "0200000A:01BB", "20 4 4 11 -1"),
        line(8, "01", "0200000A:01BB", "20 4 4 11 -1"),
        line(7, "0A", "0200000A:01BB", "20 4 4 11 -1"),
        line(7, "07", "00000000:0000", "0"),
      ),
    ).toEqual([
      {
        inode: "7",
        localPort: 0xcb54,
        remote: { address: "10.0.0.2", family: "ipv4", port: 443 },
        traces: "01 00000000:00000000 4 4",
      },
    ]);
  });

  it("show no trace of a timer that runs by itself", () => {
    const at = (timer: string) => parse(line(7, "01", "0200000A:01BB", "20 4 4 11 -1", timer));
    expect(at("02:000016DF")).toEqual(at("02:00000034"));
  });
});

it("a listing counts what was received and acknowledged, and knows of none where the kernel said nothing", () => {
  const said =
    "ESTAB 0 0 127.0.0.1:1 127.0.0.1:2 ino:7 sk:1 <-> cwnd:11 bytes_sent:79 bytes_acked:80 bytes_received:5 x";
  const silent = "ESTAB 0 0 127.0.0.1:1 127.0.0.1:2 ino:8 sk:2 <->";
  const nothingYet = "SYN-SENT 0 1 127.0.0.1:1 127.0.0.1:2 ino:9 sk:3 <-> cwnd:1";
  expect(parseListing([said, silent, nothingYet, ""].join("\n"))).toEqual(
    new Map([
      ["7", 85],
      ["9", 0],
    ]),
  );
});
