import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { importsOf } from "../../../../scripts/tidy-rules.ts";
import { BreakerOpenError } from "../guard/breaker.ts";
import { type Agent, rouse } from "../index.ts";
import { openCalls } from "./open-calls.ts";

const sources = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
  .map((name) => ({
    path: `packages/sdk/src/adapters/${name}`,
    text: readFileSync(join(import.meta.dirname, name), "utf8"),
  }));

describe("adapters", () => {
  it("are short: under 150 lines each", () => {
    for (const { path, text } of sources) expect(text.split("\n").length, path).toBeLessThan(150);
  });

  it("import no framework, not even its types", () => {
    for (const source of sources)
      expect(importsOf(source).filter((name) => !name.startsWith("packages/sdk/"))).toEqual([]);
  });
});

describe("calls that a framework tells of", () => {
  const agents: Agent[] = [];
  afterEach(() => Promise.all(agents.splice(0).map((agent) => agent.close())));

  /** A real agent, far from any Rouse. */
  function begin() {
    const away = () => Promise.reject(new Error("nobody is there"));
    const options = { url: "http://127.0.0.1:9", token: "none", onWarning: () => undefined, fetch: away, env: {} };
    const agent = rouse.agent({ id: `adapted-${agents.length}`, ...options });
    agents.push(agent);
    return { agent, calls: openCalls(agent) };
  }

  it("open a breaker when they fail, and then are refused", async () => {
    const { agent, calls } = begin();
    for (let n = 0; n < 5; n++) (await calls.tool("look", {})).fail(new Error("no"));
    await expect(calls.tool("look", {})).rejects.toBeInstanceOf(BreakerOpenError);
    expect(agent.breaker("tool_execution/look").state()).toBe("OPEN");
  });

  it("are refused though their breaker has a fallback: a framework could not use what that answers", async () => {
    const { agent, calls } = begin();
    agent.breaker("tool_execution/look", { fallback: () => "older" });
    for (let n = 0; n < 5; n++) (await calls.tool("look", {})).fail(new Error("no"));
    await expect(calls.tool("look", {})).rejects.toBeInstanceOf(BreakerOpenError);
  });

  it("count neither for nor against a tool when they are broken off", async () => {
    const { agent, calls } = begin();
    for (let n = 0; n < 6; n++) (await calls.tool("look", {})).cancel();
    for (let n = 0; n < 6; n++)
      (await calls.tool("look", {})).fail(Object.assign(new Error("stopped"), { name: "AbortError" }));
    expect(agent.breaker("tool_execution/look").state()).toBe("CLOSED");
  });

  it("speak against a model when it fails, not when it refuses or is used up", async () => {
    const { agent, calls } = begin();
    for (const status of [429, 400, 401, 404]) (await calls.model("m")).fail({ status });
    expect(agent.breaker("external_api/m").state()).toBe("CLOSED");
    for (const error of [{ statusCode: 500 }, { lastError: { status: 503 } }, new TypeError("fetch failed")])
      (await calls.model("m")).fail(error);
    await expect(calls.model("m")).rejects.toBeInstanceOf(BreakerOpenError);
  });

  it("survive an error that cannot be read", async () => {
    const { calls } = begin();
    const unreadable = new Proxy({}, { get: () => expect.fail("not for you") });
    (await calls.model("m")).fail(unreadable);
    (await calls.tool("t", unreadable)).fail(unreadable);
    await calls.tool("t", {});
  });
});
