import { describe, expect, it } from "vitest";
import { isSupported } from "../../holder/processes/read-processes.ts";
import { checkSupervision, checkTerminals, judgeTier, unsupported } from "./check-supervision.ts";

describe("doctor says", () => {
  it("in which tier this host is, and that agents can have terminals", async () => {
    const checks = await checkSupervision();
    expect(checks.map(({ name }) => name)).toEqual(isSupported() ? ["process trees", "terminals"] : ["process trees"]);
    expect(checks[0]?.text).toMatch(/cgroup tier|marked tier|do not work on/);
    expect(checks.map(({ verdict }) => verdict)).not.toContain("fail");
  });

  it("what can escape without control groups, why there are none and how to get them", () => {
    const sure = judgeTier({ tier: "cgroup", why: "groups can be made", place: "/sys/fs/cgroup/rouse-agents" });
    expect(sure).toMatchObject({ verdict: "ok", text: expect.stringContaining("/sys/fs/cgroup/rouse-agents") });
    const unsure = judgeTier({ tier: "marked", why: "not mounted", place: null });
    expect(unsure).toMatchObject({
      verdict: "warn",
      text: expect.stringMatching(/can outlive its stop \(not mounted\)/),
    });
    expect(unsure.advice).toContain("Delegate=yes");
  });

  it("that agents cannot be started on other systems yet", () => {
    expect(unsupported("darwin")).toMatchObject({ verdict: "warn", text: expect.stringContaining("darwin") });
  });

  it("when the terminal library is missing or was built for another machine", async () => {
    const broken = await checkTerminals(() => import("./there-is-no-such-file.ts" as string));
    expect(broken).toMatchObject({ verdict: "fail", text: expect.stringContaining("cannot be loaded") });
  });
});
