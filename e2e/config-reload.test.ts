import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp } from "./clean-up.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

function rewrite(daemon: Daemon, config: string): void {
  writeFileSync(join(daemon.home, "config.yaml"), config);
  daemon.process.child.kill("SIGHUP");
}

const policyOf = async (daemon: Daemon): Promise<string> => (await daemon.rouse.why("worker")).policy.id;

describe("a configuration read again while the daemon runs (SIGHUP)", () => {
  it("changes the policy when it is good; when it is bad the old one stays in force", async () => {
    const daemon = await startDaemon({ config: "preset: default\n" });
    await daemon.rouse.recordHeartbeat({ agentId: "worker", status: "RUNNING" });
    const first = await policyOf(daemon);
    expect(first).toMatch(/^default@/);

    rewrite(daemon, "preset: fleet\n");
    await until("the reload is recorded", async () => (await daemon.events("CONFIG_RELOADED")).length === 1);
    const second = await policyOf(daemon);
    expect(second).toMatch(/^fleet@/);
    expect(await daemon.events("CONFIG_RELOADED")).toMatchObject([{ payload: { policy: second } }]);
    expect((await daemon.rouse.why("worker")).clocks.silenceAllowedSeconds).toBeLessThan(60);

    rewrite(daemon, "preset: fleet\nhealth_monitoring:\n  heartbeat: { intervall_seconds: 1 }\n  mode: maybe\n");
    const [refused] = await until("the refusal is recorded", async () => {
      const events = await daemon.events("CONFIG_REFUSED");
      return events.length > 0 && events;
    });
    expect(refused?.payload).toEqual({
      problems: [
        expect.stringMatching(/config\.yaml:3.*intervall_seconds.*did you mean interval_seconds/),
        expect.stringMatching(/config\.yaml:4.*mode/),
      ],
    });
    expect(await policyOf(daemon)).toBe(second);
    expect(await daemon.events("CONFIG_RELOADED")).toHaveLength(1);
    expect(daemon.process.stderr()).toContain("the old one stays in force");
    expect((await daemon.rouse.recordHeartbeat({ agentId: "worker" })).status).toBe("accepted");

    rewrite(daemon, "preset: default\n");
    await until("the next reload is recorded", async () => (await daemon.events("CONFIG_RELOADED")).length === 2);
    expect(await policyOf(daemon)).toBe(first);
    expect(await daemon.events("HEALTH_STATE_CHANGED")).toEqual([]);
  });
});
