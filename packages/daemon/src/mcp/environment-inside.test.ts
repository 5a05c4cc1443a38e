import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { environmentInside } from "./environment-inside.ts";

const started: ChildProcess[] = [];
afterEach(() => {
  for (const { pid } of started.splice(0)) if (pid !== undefined) process.kill(-pid, "SIGKILL");
});

/** A process without any environment, below one with this. */
async function below(environment: Record<string, string>): Promise<number> {
  const script = "env -i sleep 100 & echo $!; wait";
  const options = { env: { PATH: process.env["PATH"] ?? "", ...environment }, detached: true } as const;
  const shell = spawn("sh", ["-c", script], { ...options, stdio: ["ignore", "pipe", "ignore"] });
  started.push(shell);
  const [line] = (await once(shell.stdout, "data")) as [Buffer];
  return Number(line.toString());
}

const agent = {
  ROUSE_MARK: "m",
  ROUSE_URL: "http://127.0.0.1:1",
  ROUSE_TOKEN: "rouse-agent.x",
  ROUSE_AGENT_ID: "a",
  ROUSE_INCARNATION: "2",
};

describe("a process that was started without its agent's environment", () => {
  it("speaks with the agent's own token, at the agent's address", async () => {
    const { ROUSE_MARK: _, ...own } = agent;
    expect(environmentInside({ HOME: "/h" }, await below(agent))).toEqual({ HOME: "/h", ...own });
  });

  it("does not speak at all where the agent has none", async () => {
    const pid = await below({ ROUSE_MARK: "m" });
    expect(() => environmentInside({}, pid)).toThrow(expect.objectContaining({ code: "unauthorized" }));
  });

  it("keeps a token it was given", async () => {
    const environment = { ROUSE_TOKEN: "planner" };
    expect(environmentInside(environment, await below(agent))).toBe(environment);
  });

  it("is nobody's outside of agents, whatever else is set there", async () => {
    const environment = { HOME: "/h" };
    expect(environmentInside(environment, await below({ ROUSE_TOKEN: "t" }))).toBe(environment);
  });
});
