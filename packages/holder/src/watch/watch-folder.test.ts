import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { until } from "../holding.test-support.ts";
import { type FolderWatch, readMounts, watchFolder } from "./watch-folder.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let folder: string;
let watch: FolderWatch;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rouse-folder-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  watch.stop();
  rmSync(folder, { recursive: true, force: true });
});

const write = (file: string, text = "x"): void => writeFileSync(join(folder, file), text);

/** Once it knows what is there. */
async function begin(leftOut: readonly string[] = []): Promise<void> {
  watch = watchFolder(folder, leftOut);
  await watch.look();
}

async function seen(): Promise<number | null> {
  await watch.look();
  return watch.changes();
}

describe("below a folder", () => {
  it("a file changed in place is seen, and nothing else is", async () => {
    mkdirSync(join(folder, "deep/er"), { recursive: true });
    write("deep/er/file");
    write("other");
    await begin();
    expect(watch.changes()).toBe(0);
    expect(await seen()).toBe(0);
    write("deep/er/file", "y");
    expect(await seen()).toBe(1);
    expect(await seen()).toBe(1);
    write("deep/er/file", "z");
    expect(await seen()).toBe(2);
  });

  it.for<[string, () => void]>([
    ["a new file", () => write("new")],
    ["a file that is gone", () => rmSync(join(folder, "one"))],
    ["another name", () => renameSync(join(folder, "one"), join(folder, "sub/one"))],
    ["a new folder", () => mkdirSync(join(folder, "sub/new"))],
    ["a folder that is gone", () => rmSync(join(folder, "sub"), { recursive: true })],
  ])("%s is a change", async ([, change]) => {
    mkdirSync(join(folder, "sub"));
    write("one");
    await begin();
    change();
    expect(await seen()).toBeGreaterThan(0);
  });

  it("what has changed before is looked at first, and the rest again once that rests", async () => {
    mkdirSync(join(folder, "busy"));
    mkdirSync(join(folder, "quiet"));
    await begin();
    write("busy/log", "1");
    expect(await seen()).toBe(1);
    write("busy/log", "12");
    write("quiet/file");
    expect(await seen()).toBe(2);
    expect(await seen()).toBe(3);
    expect(await seen()).toBe(3);
  });

  it("the history of git, packages and what is Rouse's own are left out", async () => {
    for (const name of [".git", "node_modules", "ours", "theirs"]) mkdirSync(join(folder, name));
    await begin([join(folder, "ours")]);
    for (const name of [".git", "node_modules", "ours"]) write(join(name, "file"));
    expect(await seen()).toBe(0);
    write("theirs/file");
    expect(await seen()).toBe(1);
  });

  it("links are not followed, not even in a circle", async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "rouse-elsewhere-"));
    symlinkSync(folder, join(folder, "circle"));
    symlinkSync(elsewhere, join(folder, "elsewhere"));
    await begin();
    writeFileSync(join(elsewhere, "file"), "x");
    expect(await seen()).toBe(0);
    rmSync(elsewhere, { recursive: true });
  });

  it("is looked at again and again without being asked", async () => {
    write("file");
    watch = watchFolder(folder, [], { roundMs: 100, mostFolders: 10, mostEntries: 10 });
    await until(() => watch.changes() === 0, "the first round");
    write("file", "y");
    await until(() => watch.changes() === 1, "the change is seen");
  });

  it("one file of 50,000 is seen in one round, in slices that keep no terminal waiting", async () => {
    if (existsSync("/dev/shm")) folder = mkdtempSync("/dev/shm/rouse-folder-");
    for (let at = 0; at < 1000; at++) {
      const part = join(folder, `part-${at % 40}`, `module-${at}`);
      mkdirSync(part, { recursive: true });
      for (let file = 0; file < 50; file++) writeFileSync(join(part, `file-${file}.ts`), "x");
    }
    await begin();
    expect(watch.changes()).toBe(0);
    write("part-7/module-847/file-23.ts", "y");
    // In time of the processor: others on this machine are not our concern. By the clock a round takes 4 s where nobody
    // else is.
    const used = () => (({ user, system }) => (user + system) / 1000)(process.cpuUsage());
    const start = used();
    let last = start;
    let longest = 0;
    const heart = setInterval(() => {
      longest = Math.max(longest, used() - last);
      last = used();
    }, 5);
    expect(await seen()).toBe(1);
    clearInterval(heart);
    expect(used() - start).toBeLessThan(3000);
    expect(longest).toBeLessThan(100);
  });
});

describe("nothing is claimed of", () => {
  it.for<[string, () => string]>([
    ["the root of everything", () => "/"],
    ["somebody's home", () => vi.stubEnv("HOME", folder) && folder],
    ["what holds somebody's home", () => vi.stubEnv("HOME", join(folder, "me")) && folder],
    ["the folder that everybody uses", () => tmpdir()],
    ["a folder that is not there", () => join(folder, "nowhere")],
    ["one inside the kernel", () => "/proc/self/fd"],
  ])("%s", async ([, where]) => {
    watch = watchFolder(where());
    await watch.look();
    expect(watch.changes()).toBeNull();
  });

  it("a folder of Rouse's own", async () => {
    mkdirSync(join(folder, "holders"));
    watch = watchFolder(join(folder, "holders"), [folder]);
    await watch.look();
    expect(watch.changes()).toBeNull();
  });

  it.skipIf(process.getuid?.() === 0)("a folder that may not be read", async () => {
    chmodSync(folder, 0o300);
    await begin();
    expect(watch.changes()).toBeNull();
    chmodSync(folder, 0o700);
  });

  it("a folder that is gone, until it is there again", async () => {
    await begin();
    expect(watch.changes()).toBe(0);
    rmSync(folder, { recursive: true });
    expect(await seen()).toBeNull();
    mkdirSync(folder);
    expect(await seen()).toBe(0);
  });

  it.for([
    { mostFolders: 10, mostEntries: 1000 },
    { mostFolders: 1000, mostEntries: 9 },
  ])("more than one round can see, for as long as it is more", async (limits) => {
    for (let at = 0; at < 10; at++) mkdirSync(join(folder, `${at}`));
    watch = watchFolder(folder, [], { roundMs: 15_000, ...limits });
    expect(await seen()).toBeNull();
    rmSync(join(folder, "0"), { recursive: true });
    expect(await seen()).toBe(0);
  });

  it("a network's file system, or what is mounted inside the folder", () => {
    const mounts = [
      "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw",
      "28 27 0:40 / /srv/far\\040away rw - nfs4 server:/ rw",
      "29 27 0:41 / /srv/near/sub rw shared:2 master:3 - fuse.sshfs x rw",
      "30 27 0:42 / /srv/nearby rw - tmpfs x rw",
      "",
    ].join("\n");
    expect(readMounts("/srv/far away/repo", mounts)).toEqual({ isLocal: false, below: new Set() });
    expect(readMounts("/srv/near", mounts)).toEqual({ isLocal: true, below: new Set(["/srv/near/sub"]) });
    expect(readMounts("/srv/near/sub/repo", mounts).isLocal).toBe(false);
    expect(readMounts("/srv/nearby", mounts)).toEqual({ isLocal: true, below: new Set() });
    expect(readMounts("/", "27 1 254:0 / / rw - unheardof /dev/vda rw").isLocal).toBe(false);
  });
});
