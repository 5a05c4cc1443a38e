import type { TaskReport } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type Line, paintLine, widthOf } from "../text/styled-text.ts";
import { hostile, now } from "./sample.test-support.ts";
import { describeTask, showTask, showTasks } from "./tasks.ts";

const base: TaskReport = {
  taskId: "fix-42",
  title: "Fix the login form that forgets the password",
  priority: "high",
  status: "running",
  because: "started",
  owner: "ann",
  claim: { number: 3, agentId: "worker-1", since: "2026-02-05T09:10:00.000Z", refreshedAt: "2026-02-05T10:09:00.000Z" },
  reservedFor: null,
  note: "tests are green",
  dependsOn: [],
  waitsFor: [],
  dependents: ["deploy-7"],
  createdAt: "2026-02-05T09:00:00.000Z",
  startedAt: "2026-02-05T09:10:00.000Z",
  updatedAt: "2026-02-05T09:35:00.000Z",
  timeoutMinutes: 120,
  timeoutAt: "2026-02-05T11:10:00.000Z",
  onTimeout: "reassign",
  endedBy: null,
  flags: ["stalled"],
  recoveries: 1,
  lastCheckpoint: "c0ffee",
};
const waiting: TaskReport = {
  ...base,
  taskId: "deploy-7",
  title: "",
  priority: "normal",
  status: "pending",
  because: "created",
  owner: null,
  claim: null,
  note: null,
  dependsOn: ["fix-42"],
  waitsFor: [{ taskId: "fix-42", status: "running" }],
  dependents: [],
  startedAt: null,
  updatedAt: "2026-02-05T10:00:00.000Z",
  timeoutMinutes: null,
  timeoutAt: null,
  flags: [],
  recoveries: 0,
  lastCheckpoint: null,
};
const blocked: TaskReport = {
  ...waiting,
  taskId: "migrate-the-customer-database-to-the-new-schema",
  title: "Needs a password nobody gave it",
  priority: "critical",
  status: "blocked",
  because: "timed-out",
  flags: ["timed-out"],
};
const reserved: TaskReport = {
  ...waiting,
  taskId: "review",
  priority: "low",
  reservedFor: "worker-2",
  flags: ["unclaimed"],
};

const plain = (lines: readonly Line[]) => lines.map((line) => paintLine(line, false)).join("\n");
const page = (...tasks: TaskReport[]) => ({ tasks, total: tasks.length });

describe("rouse tasks", () => {
  it("lists what needs somebody first, then what is under way, then what waits", () => {
    expect(plain(showTasks(page(waiting, reserved, base, blocked), 12, now, 120))).toBe(
      [
        "TASK                             STATUS              PRIORITY  AGENT         UPDATED     TITLE",
        "migrate-the-customer-database-…  blocked             critical  –             10 min ago  Needs a password nobody gave it",
        "fix-42                           running, stalled    high      worker-1      35 min ago  Fix the login form that forget…",
        "deploy-7                         pending             normal    –             10 min ago  –",
        "review                           pending, unclaimed  low       for worker-2  10 min ago  –",
        "",
        "12 more tasks are over; --all shows them.",
      ].join("\n"),
    );
  });

  it("fits a narrow terminal", () => {
    expect(plain(showTasks(page(base, blocked, reserved), 1, now, 80))).toBe(
      [
        "TASK          STATUS              PRIORITY  AGENT        UPDATED     TITLE",
        "migrate-the…  blocked             critical  –            10 min ago  Needs a pa…",
        "fix-42        running, stalled    high      worker-1     35 min ago  Fix the lo…",
        "review        pending, unclaimed  low       for worker…  10 min ago  –",
        "",
        "1 more task is over; --all shows it.",
      ].join("\n"),
    );
  });

  it.each([40, 60, 80, 100, 120, 200])("never writes beyond %i columns, whatever a task is called", (width) => {
    const wide = { ...base, title: "修复登录表单".repeat(20), taskId: "t".repeat(128), note: hostile };
    for (const line of [...showTasks(page(wide, blocked), 0, now, width), ...showTask(wide, now, width)])
      expect(widthOf(paintLine(line, false)), paintLine(line, false)).toBeLessThanOrEqual(width);
  });

  it("says when there are none, and when there are more than are shown", () => {
    expect(plain(showTasks(page(), 0, now, 80))).toBe("No tasks here. `rouse tasks add` makes one.");
    expect(plain(showTasks(page(), 0, now, 80, true))).toBe("No such tasks.");
    expect(plain(showTasks({ tasks: [waiting], total: 5230 }, 0, now, 80))).toContain("These are 1 of 5230.");
  });
});

describe("rouse tasks show", () => {
  it("tells all that is known of a task, and nothing that is not", () => {
    expect(plain(showTask(base, now, 80))).toBe(
      [
        "fix-42 is running, by worker-1 with claim 3.",
        "Fix the login form that forgets the password",
        "",
        "because        started",
        "flags          stalled",
        "priority       high",
        "owner          ann",
        "claimed        2026-02-05T09:10:00Z (60 min ago)",
        "refreshed      2026-02-05T10:09:00Z (60 s ago)",
        "note           tests are green",
        "waited for by  deploy-7",
        "created        2026-02-05T09:00:00Z (70 min ago)",
        "started        2026-02-05T09:10:00Z (60 min ago)",
        "updated        2026-02-05T09:35:00Z (35 min ago)",
        "timeout        in 60 min, then it is given back",
        "recoveries     1",
        "checkpoint     c0ffee",
      ].join("\n"),
    );
    expect(plain(showTask(waiting, now, 80))).toBe(
      [
        "deploy-7 is pending, waiting for fix-42 (running).",
        "",
        "because     created",
        "priority    normal",
        "depends on  fix-42",
        "created     2026-02-05T09:00:00Z (70 min ago)",
        "updated     2026-02-05T10:00:00Z (10 min ago)",
      ].join("\n"),
    );
    const free = { ...reserved, waitsFor: [] };
    expect(plain([describeTask(free)])).toBe("review is pending, meant for worker-2.");
    const lost = { ...waiting, waitsFor: [{ taskId: "fxi-42", status: null }], timeoutMinutes: 90 };
    expect(plain([describeTask(lost)])).toBe("deploy-7 is pending, waiting for fxi-42 (nobody has made it yet).");
    expect(plain(showTask(lost, now, 80))).toContain("90 min from the claim, then it is given back");
    const done = { ...base, status: "completed", claim: null, endedBy: "worker-1" } as const;
    expect(plain([describeTask(done)])).toBe("fix-42 is completed by worker-1.");
  });

  it("shows what agents and files say without anything a terminal would act on", () => {
    const rude = { ...base, title: hostile, note: hostile, owner: hostile };
    for (const text of [plain(showTask(rude, now, 100)), plain(showTasks(page(rude), 0, now, 100))])
      for (const control of ["\u001b", "\u0007", "\u009b", "\u202e"]) expect(text).not.toContain(control);
  });
});
