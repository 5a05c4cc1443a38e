import { afterEach, describe, expect, it } from "vitest";
import { cleanUp } from "./clean-up.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";

afterEach(cleanUp);

async function restart(daemon: Daemon, signal: NodeJS.Signals): Promise<Daemon> {
  await daemon.end(signal);
  return startDaemon({ home: daemon.home });
}

describe("a freeze", () => {
  it("lasts until the thaw, however the daemon ends in between, and both are on record", async () => {
    let daemon = await startDaemon();
    const frozen = await daemon.cli("freeze", "--reason", "moving the database");
    expect(frozen).toMatchObject({ code: 0, stdout: expect.stringContaining("Frozen") });

    for (const signal of ["SIGKILL", "SIGTERM"] as const) {
      daemon = await restart(daemon, signal);
      const { status, monitor } = await daemon.rouse.status();
      expect(status).toBe("frozen");
      expect(monitor.frozen).toMatchObject({
        reason: "moving the database",
        actor: "owner",
        as: expect.stringMatching(/\w/),
      });
    }
    expect((await daemon.cli("health")).stdout).toContain("moving the database");
    expect((await daemon.rouse.recordHeartbeat({ agentId: "worker" })).status).toBe("accepted");

    const thawed = await daemon.cli("thaw", "--reason", "done", "--json");
    expect(JSON.parse(thawed.stdout)).toMatchObject({ status: "ok", monitor: { frozen: null } });
    daemon = await restart(daemon, "SIGKILL");
    expect((await daemon.rouse.status()).monitor.frozen).toBeNull();

    const orders = await daemon.events("MONITOR_FROZEN", "MONITOR_THAWED");
    expect(orders.map(({ type, payload }) => [type, (payload as { reason: string }).reason])).toEqual([
      ["MONITOR_FROZEN", "moving the database"],
      ["MONITOR_THAWED", "done"],
    ]);
  });
});
