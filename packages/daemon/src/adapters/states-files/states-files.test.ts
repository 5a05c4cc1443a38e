import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "@rouse/contract";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { hashOf, statesConformance } from "../../ports/states.conformance.ts";
import { openFileStates } from "./open-file-states.ts";

const disk = mkdtempSync(join(tmpdir(), "rouse-states-disk-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0700", "rouse-states", disk]).status === 0;
if (!mounted) console.warn("NOT TESTED: states on a full disk, because we may not mount one here (that needs root)");
afterAll(() => {
  if (mounted && spawnSync("umount", [disk]).status !== 0) spawnSync("umount", ["-l", disk]);
  rmSync(disk, { recursive: true });
});

let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rouse-states-"));
});
afterEach(() => rmSync(home, { recursive: true }));

statesConformance("files", async () => {
  const place = home;
  return () => openFileStates(place);
});

const text = '{"step":1}';
const hash = hashOf(text);

describe("the files of states", () => {
  it("are for their owner only, each on the shelf of its first two digits", async () => {
    const folder = join(home, "states");
    await (await openFileStates(home)).put(hash, text);
    const modes = [folder, join(folder, hash.slice(0, 2)), join(folder, hash.slice(0, 2), hash)].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o700, 0o600]);
  });

  it("that were damaged are right again when the same state is put again", async () => {
    const folder = join(home, "states");
    const states = await openFileStates(home);
    await states.put(hash, text);
    writeFileSync(join(folder, hash.slice(0, 2), hash), "{");
    expect(await states.get(hash)).toBe("{");
    await states.put(hash, text);
    expect(await states.get(hash)).toBe(text);
  });

  it("that a death left half-written are nobody's, and gone the next time", async () => {
    const folder = join(home, "states");
    const states = await openFileStates(home);
    await states.put(hash, text);
    writeFileSync(join(folder, "new", "half"), '{"st');
    expect(await states.list(null, 10)).toEqual([hash]);
    const again = await openFileStates(home);
    expect(existsSync(join(folder, "new", "half"))).toBe(false);
    expect(await again.get(hash)).toBe(text);
  });

  it("leave nothing half-written behind when they cannot be put, and whoever asked may ask again", async () => {
    const folder = join(home, "states");
    const states = await openFileStates(home);
    // A folder that is not empty stands where the file belongs.
    mkdirSync(join(folder, hash.slice(0, 2), hash, "in the way"), { recursive: true });
    const fault = await states.put(hash, text).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(Fault);
    expect(fault).toMatchObject({ code: "store-unavailable", retryable: true });
    expect((fault as Fault).message).toMatch(/cannot be written for now/);
    expect(readdirSync(join(folder, "new"))).toEqual([]);
    rmSync(join(folder, hash.slice(0, 2), hash), { recursive: true });
    await states.put(hash, text);
    expect(await states.get(hash)).toBe(text);
  });

  it("cannot be put where a file stands in the folder's place, and it says where", async () => {
    const folder = join(home, "states");
    const states = await openFileStates(home);
    writeFileSync(folder, "not a folder");
    const fault = await states.put(hash, text).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: "store-unavailable" });
    expect((fault as Fault).message).toContain(folder);
  });

  it.skipIf(!mounted)(
    "say when the disk is full, leave no trace of what did not fit, and go on when there is room",
    async () => {
      const states = await openFileStates(disk);
      await states.put(hash, text);
      const large = JSON.stringify("x".repeat(2_000_000));
      const fault = await states.put(hashOf(large), large).catch((error: unknown) => error);
      expect(fault).toMatchObject({ code: "store-unavailable", retryable: true });
      expect((fault as Fault).message).toMatch(/the disk is full/);
      expect(readdirSync(join(disk, "states", "new"))).toEqual([]);
      expect(await states.list(null, 10)).toEqual([hash]);
      const small = JSON.stringify("x".repeat(100_000));
      await states.put(hashOf(small), small);
      expect(await states.get(hashOf(small))).toBe(small);
    },
  );

  it("are never looked for outside the folder", async () => {
    const states = await openFileStates(home);
    await expect(states.get("../token")).rejects.toThrow("named by its hash");
  });
});
