import { isAbsolute, join } from "node:path";
import { expect, it } from "vitest";
import { environmentFor } from "./agent-environment.ts";

const life = { agentId: "a", taskId: null, incarnation: 2 };
const monitor = { url: "http://127.0.0.1:7433", token: "the-owner's-token-0123456789", home: "data" };

it("tells an agent where checkpoints wait, the same in each life, and leaves its own data folder alone", () => {
  const base = { ROUSE_HOME: "of-its-own", ROUSE_UNSENT: "of an outer agent", ROUSE_TASK_ID: "of an outer agent" };
  const env = environmentFor(base, life, monitor);
  expect(env["ROUSE_UNSENT"]).toBe(join(process.cwd(), "data", "unsent"));
  expect(isAbsolute(env["ROUSE_UNSENT"] ?? "")).toBe(true);
  expect(env["ROUSE_HOME"]).toBe("of-its-own");
  expect(env["ROUSE_TASK_ID"]).toBeUndefined();
  expect(environmentFor(env, { ...life, incarnation: 3 }, monitor)["ROUSE_UNSENT"]).toBe(env["ROUSE_UNSENT"]);
});

it("never passes the owner's token on", () => {
  const env = environmentFor({}, life, monitor);
  expect(JSON.stringify(env)).not.toContain(monitor.token);
  expect("ROUSE_HOME" in env).toBe(false);
});
