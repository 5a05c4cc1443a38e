import type { ActivityReport } from "@rouse/contract";
import { expect, it } from "vitest";
import { describeActivity } from "./describe-activity.ts";
import { stamp } from "./tell-time.ts";

const until = "2026-11-16T15:00:00.000Z";
const waiting = { kind: "WAITING", since: "2026-11-16T14:00:00.000Z", for: "provider" } as const;

it.each<[ActivityReport, string]>([
  [waiting, "WAITING for provider"],
  [{ ...waiting, until, by: "stream" }, "WAITING for provider"],
  [{ ...waiting, until, by: "text" }, `says it waits for its provider until ${stamp(until)}`],
  [{ ...waiting, by: "text" }, "says it waits for its provider"],
  [{ ...waiting, kind: "RUNNING", open: { kind: "tool", name: "npm-test" } }, "RUNNING tool npm-test"],
])("%j is told as: %s", (activity, told) => {
  expect(describeActivity(activity)).toBe(told);
});
