import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp } from "./clean-up.ts";
import { repository } from "./run-rouse.ts";
import { startDaemon } from "./start-daemon.ts";

afterEach(cleanUp);

const there = spawnSync("python3", ["--version"]).status === 0;
if (!there) console.error("e2e: python3 IS NOT ON THIS MACHINE: the checksum of docs/heartbeats.md is SKIPPED.");

/** What the page tells Python agents to do, word for word. */
function codeOfPage(): string {
  const page = readFileSync(join(repository, "docs", "heartbeats.md"), "utf8");
  const code = /```python\n(.*?def checksum.*?)```/s.exec(page)?.[1];
  return code ?? expect.fail("docs/heartbeats.md shows no checksum in Python");
}

const sender = `
beat = {"agentId": "snake", "sequenceNumber": 1, "tokenCount": 3.0, "phase": "prüfen 🐍",
        "healthMetrics": {"errorRate": 1.0, "memory": 0.25, "nested": [1.0, {"z": -0.0, "a": 2e3}]}}
print(json.dumps({**beat, "checksum": checksum(beat)}))
`;

describe("the checksum that docs/heartbeats.md shows for Python", () => {
  it.skipIf(!there)("is the one Rouse reckons, whole floats included; a damaged beat is refused", async () => {
    const { stdout, stderr } = spawnSync("python3", ["-c", codeOfPage() + sender], { encoding: "utf8" });
    expect(stderr).toBe("");
    const daemon = await startDaemon();
    const post = async (body: string) => {
      const headers = { authorization: `Bearer ${daemon.token}`, "content-type": "application/json" };
      const answer = await fetch(`${daemon.url}/api/v1/heartbeats`, { method: "POST", headers, body });
      return (await answer.json()) as unknown;
    };
    expect(stdout).toContain("1.0");
    expect(await post(stdout)).toMatchObject({ status: "accepted" });
    expect(await post(stdout.replace('"phase": "', '"phase": "x'))).toMatchObject({ because: "wrong-checksum" });
  });
});
