import type { ActivityReport, LimitReport } from "@rouse/contract";
import { expect, it } from "vitest";
import { stamp } from "../text/tell-time.ts";
import { describeActivity, describeLimit } from "./agents.ts";

const until = "2026-11-16T15:00:00.000Z";
const waiting = { kind: "WAITING", since: "2026-11-16T14:00:00.000Z", for: "provider" } as const;

it.each<[ActivityReport, string]>([
  [waiting, "WAITING for provider"],
  [{ ...waiting, until, by: "stream" }, "WAITING for provider"],
  [{ ...waiting, until, by: "text" }, `says it waits for its provider until ${stamp(until)}`],
  [{ ...waiting, by: "text" }, "says it waits for its provider"],
  [{ ...waiting, kind: "RUNNING", open: { kind: "tool", name: "npm-test" } }, "RUNNING tool npm-test"],
])("%j is told as: %s", (activity, told) => {
  expect(describeActivity(activity, Date.parse(waiting.since))).toBe(told);
});

it("a wait whose time is up is told as over", () => {
  expect(describeActivity({ ...waiting, until, by: "text" }, Date.parse(until) + 1)).toBe(
    `waited for provider until ${stamp(until)}`,
  );
});

it.each([
  ["2026-11-16T12:55:00.000Z", true, "limit, resets in 2h 05m"],
  ["2026-11-16T14:47:30.000Z", true, "limit, resets in 12m 30s"],
  ["2026-11-16T14:59:15.000Z", true, "limit, resets in 45s"],
  ["2026-11-16T14:00:00.000Z", false, "limit, tried again in 1h 00m"],
  ["2026-11-16T15:00:01.000Z", true, "limit is over"],
  ["2026-11-16T15:00:01.000Z", false, "limit is over"],
])("a limit until three, looked at %s, is told as: %s %s", (now, named, told) => {
  const limit = { what: "usage", since: waiting.since, until, named, by: "stream", continues: false, attempts: 0 };
  expect(describeLimit(limit as LimitReport, Date.parse(now))).toBe(told);
});

it("a limit is told with the reset that was advertised, and after that with when Rouse sees to it", () => {
  const limit: LimitReport = {
    ...{ what: "usage", since: waiting.since, until: "2026-11-16T15:01:00.000Z", named: true, by: "text" },
    ...{ resetsAt: until, seenToAt: "2026-11-16T15:01:12.000Z", continues: false, attempts: 0 },
  };
  const at = (time: string): string => describeLimit(limit, Date.parse(`2026-11-16T${time}.000Z`));
  expect(at("14:50:00")).toBe("limit, resets in 10m 00s");
  expect(at("15:00:02")).toBe("limit is over, Rouse acts in 1m 10s");
  expect(at("15:01:12")).toBe("limit is over");
});
