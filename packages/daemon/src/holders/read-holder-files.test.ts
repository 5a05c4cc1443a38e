import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { holderFiles, identityOf } from "@rouse/holder";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isHolderAlive, listHeld, readExitFile, readHolderFile, readSpec } from "./read-holder-files.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rouse-held-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const exited = { incarnation: 2, at: 5, exit: { code: 1, signal: null, cause: "by-itself" } };

describe("the folders of holders", () => {
  it("name the agents that were started here, and nothing else", () => {
    expect(listHeld(home)).toEqual([]);
    for (const name of ["worker-2", "worker-1", "rouse.canary", ".hidden", "a b"]) {
      mkdirSync(join(home, "holders", name), { recursive: true });
    }
    writeFileSync(join(home, "holders", "a-file"), "");
    expect(listHeld(home)).toEqual(["worker-1", "worker-2"]);
  });

  it("hold what can be read, and nothing where a file is missing, half-written or blank", () => {
    const files = holderFiles(home, "worker-1");
    mkdirSync(files.folder, { recursive: true });
    expect([readSpec(home, "worker-1"), readHolderFile(home, "worker-1"), readExitFile(home, "worker-1")]).toEqual([
      null,
      null,
      null,
    ]);
    for (const text of ["", `${" ".repeat(511)}\n`, JSON.stringify(exited).slice(0, 20), "[]", '{"incarnation":"2"}']) {
      writeFileSync(files.exit, text);
      expect(readExitFile(home, "worker-1"), text).toBeNull();
    }
    writeFileSync(files.exit, `${JSON.stringify(exited).padEnd(511)}\n`);
    expect(readExitFile(home, "worker-1")).toEqual(exited);
  });
});

describe("a holder", () => {
  it("is alive while its process is, and not when another got its number", async () => {
    const child = spawn("sleep", ["60"]);
    await once(child, "spawn");
    const holder = identityOf(child.pid as number);
    if (holder === null) throw new Error("the process is not there");
    expect(isHolderAlive({ holder })).toBe(true);
    expect(isHolderAlive({ holder: { ...holder, startTicks: holder.startTicks - 1 } })).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isHolderAlive({ holder })).toBe(false);
  });
});
