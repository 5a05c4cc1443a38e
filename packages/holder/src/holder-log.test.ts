import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openHolderLog } from "./holder-log.ts";

it("a holder's log stays small, whatever goes wrong how often, and a folder that is gone does no harm", () => {
  const folder = mkdtempSync(join(tmpdir(), "rouse-log-"));
  const log = openHolderLog(folder);
  for (let i = 0; i < 500; i++) log("fault", new Error("x".repeat(1000)));
  expect(readdirSync(folder).sort()).toEqual(["holder.log", "holder.log.1"]);
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).size).toBeLessThan(70 * 1024);
  rmSync(folder, { recursive: true });
  expect(() => log("fault")).not.toThrow();
});
