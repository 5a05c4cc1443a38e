import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claimName, claimWhenFree, nextIncarnation } from "./claim-name.ts";
import { identityOf } from "./processes/read-processes.ts";
import { holderFiles, lastLifeFile } from "./protocol/holder-files.ts";
import type { HolderFile, ProcessId } from "./protocol/spec.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rouse-claim-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const us = identityOf(process.pid) as ProcessId;
/** Somebody else who lives. */
const other = identityOf(process.ppid) as ProcessId;
const dead = (pid = process.pid): ProcessId => ({ pid, startTicks: 1 });

const claimOf = (holder: ProcessId, changes: Partial<HolderFile> = {}): HolderFile => ({
  agentId: "a1",
  incarnation: 1,
  holder,
  agent: null,
  socket: "/s",
  tier: "marked",
  cgroup: null,
  mark: "m",
  startedAt: Date.UTC(2026, 1, 5, 10, 30),
  ...changes,
});

const files = () => holderFiles(home, "a1");
const standing = (): HolderFile => JSON.parse(readFileSync(files().holder, "utf8"));

describe("an agent's name", () => {
  it("is taken by one, in a folder nobody else can look into, and free again when it is released", () => {
    const claim = claimName(home, claimOf(us));
    expect(statSync(files().folder).mode & 0o777).toBe(0o700);
    expect(statSync(files().holder).mode & 0o777).toBe(0o600);
    expect(standing()).toEqual(claim.file);
    claim.release();
    claim.release();
    expect(readdirSync(files().folder)).toEqual([]);
  });

  it("is refused while its holder lives, and says who that is and since when", () => {
    claimName(home, claimOf(other));
    expect(() => claimName(home, claimOf(us))).toThrow(
      `a1 is already running, held by process ${other.pid} since 2026-02-05T10:30:00.000Z`,
    );
    expect(standing().holder).toEqual(other);
    expect(readdirSync(files().folder)).toEqual(["holder.json"]);
  });

  it("is taken over from a holder that is gone, also when its number belongs to somebody else by now", () => {
    claimName(home, claimOf(dead()));
    const claim = claimName(home, claimOf(us));
    expect(standing()).toEqual(claim.file);
    expect(readdirSync(files().folder)).toEqual(["holder.json"]);
  });

  it("is taken over from a file that says nothing", () => {
    mkdirSync(files().folder, { recursive: true });
    writeFileSync(files().holder, "");
    claimName(home, claimOf(us));
    expect(standing().holder).toEqual(us);
  });

  it("is taken over from one who died while taking it over", () => {
    claimName(home, claimOf(dead(7)));
    writeFileSync(`${files().holder}.after-7-1`, JSON.stringify(claimOf(dead(8))));
    claimName(home, claimOf(us));
    expect(standing().holder).toEqual(us);
    expect(readdirSync(files().folder)).toEqual(["holder.json"]);
  });

  it("is left to one who is just taking it over", () => {
    claimName(home, claimOf(dead(7)));
    writeFileSync(`${files().holder}.after-7-1`, JSON.stringify(claimOf(other)));
    expect(() => claimName(home, claimOf(us))).toThrow("already running");
    expect(standing().holder).toEqual(dead(7));
  });

  it("is handed over by whoever took it for us, and by nobody else", () => {
    const first = claimName(home, claimOf(other));
    expect(() => claimName(home, claimOf(us), us)).toThrow("already running");
    claimName(home, claimOf(us), other);
    first.release();
    expect(standing().holder).toEqual(us);
  });

  it("is waited for while its holder is only about to leave", async () => {
    const leaving = claimName(home, claimOf(other, { agent: dead() }));
    const waiting = claimWhenFree(home, claimOf(us));
    leaving.release();
    await expect(waiting).resolves.toMatchObject({ file: { holder: us } });
  });

  it("cannot be taken where nothing can be written, and says so", () => {
    writeFileSync(join(home, "holders"), "");
    expect(() => claimName(home, claimOf(us))).toThrow(expect.objectContaining({ code: "data-folder-unusable" }));
  });
});

describe("the number of a life", () => {
  it("is one more than that of the last, and one for the first", () => {
    expect(nextIncarnation(home, "a1")).toBe(1);
    mkdirSync(files().folder, { recursive: true });
    writeFileSync(files().spec, JSON.stringify({ incarnation: 4 }));
    expect(nextIncarnation(home, "a1")).toBe(5);
    expect(existsSync(files().holder)).toBe(false);
  });

  it("goes on after that of an agent of the same name that was removed", () => {
    mkdirSync(join(home, "holders"), { recursive: true });
    writeFileSync(lastLifeFile(home, "a1"), "7");
    expect([nextIncarnation(home, "a1"), nextIncarnation(home, "a2")]).toEqual([8, 1]);
    writeFileSync(lastLifeFile(home, "a1"), "nonsense");
    expect(nextIncarnation(home, "a1")).toBe(1);
  });
});
