import { describe, expect, it } from "vitest";
import { nudgeOf } from "../nudge/nudge-of.test-support.ts";
import { nudgeByHook } from "./nudge-by-hook.ts";

describe("a nudge by hook", () => {
  it("waits for the moment before the model is asked, and is sent when it is written there", async () => {
    const nudges = nudgeByHook();
    const delivery = nudges.give(nudgeOf());
    for (const event of ["PreToolUse", "PostToolUse", "Notification"]) expect(nudges.heard(event).answer).toBeNull();
    const { answer } = nudges.heard("PostToolBatch");
    expect(answer?.body).toEqual({
      hookSpecificOutput: { hookEventName: "PostToolBatch", additionalContext: nudgeOf().text },
    });
    answer?.written?.(true);
    expect(await delivery).toEqual({ kind: "sent", channel: "hook", echoed: false });
    expect(nudges.heard("PostToolBatch").answer).toBeNull();
  });

  it("is read when the model has answered after it, and that is told once", () => {
    const nudges = nudgeByHook();
    void nudges.give(nudgeOf());
    const given = nudges.heard("PostToolBatch");
    expect(given.read).toBeNull();
    given.answer?.written?.(true);
    expect(nudges.heard("Notification").read).toBeNull();
    expect(nudges.heard("StopFailure").read).toBeNull();
    expect(nudges.heard("PreToolUse").read).toBe("a/1/nudge/1");
    expect(nudges.heard("PreToolUse").read).toBeNull();
  });

  it("is given at the end of a turn, which goes on with it", () => {
    const nudges = nudgeByHook();
    void nudges.give(nudgeOf());
    expect(nudges.heard("Stop").answer).not.toBeNull();
    expect(nudges.possible()).toBe(true);
  });

  it("is possible while a turn is under way, and not while the program rests", () => {
    const nudges = nudgeByHook();
    expect(nudges.possible()).toBe(false);
    nudges.heard("UserPromptSubmit");
    expect(nudges.possible()).toBe(true);
    nudges.heard("Stop");
    expect(nudges.possible()).toBe(false);
  });

  it("is not made possible by what is told while the program rests", () => {
    const nudges = nudgeByHook();
    for (const event of ["UserPromptSubmit", "Stop", "Notification", "PreCompact", "PostCompact", "SubagentStop"])
      nudges.heard(event);
    expect(nudges.possible()).toBe(false);
    nudges.heard("PreToolUse");
    for (const event of ["PermissionRequest", "Notification", "PostCompact"]) nudges.heard(event);
    expect(nudges.possible()).toBe(true);
  });

  it("is neither possible nor waited with once the screen shows that the turn was broken off", async () => {
    const nudges = nudgeByHook();
    nudges.heard("PreToolUse");
    const delivery = nudges.give(nudgeOf());
    nudges.rests();
    expect(nudges.possible()).toBe(false);
    expect(await delivery).toEqual({ kind: "not-sent", because: "no-input" });
  });

  it("is not given when it was withdrawn, nor after a person spoke", async () => {
    const nudges = nudgeByHook();
    const withdrawn = nudges.give(nudgeOf());
    nudges.withdraw("another");
    nudges.withdraw("a/1/nudge/1");
    expect(nudges.heard("Stop").answer).toBeNull();
    expect(await withdrawn).toEqual({ kind: "not-sent", because: "expired" });
    const overtaken = nudges.give(nudgeOf());
    nudges.heard("UserPromptSubmit");
    expect(nudges.heard("PostToolBatch").answer).toBeNull();
    expect(await overtaken).toEqual({ kind: "not-sent", because: "attached" });
  });

  it("is not sent when its time is up before such a moment comes", async () => {
    const nudges = nudgeByHook();
    expect(await nudges.give(nudgeOf({ notAfter: Date.now() - 1 }))).toEqual({ kind: "not-sent", because: "expired" });
  });

  it("is not given by a hook that comes after its time, though nothing could tell before that its time was up", async () => {
    const nudges = nudgeByHook();
    const notAfter = Date.now() + 20;
    const delivery = nudges.give(nudgeOf({ notAfter }));
    // A machine that stood still: no timer runs meanwhile.
    while (Date.now() <= notAfter);
    expect(nudges.heard("PostToolBatch").answer).toBeNull();
    expect(await delivery).toEqual({ kind: "not-sent", because: "expired" });
  });

  it("is not sent when its turn fails, or the agent ends", async () => {
    const failed = nudgeByHook();
    const first = failed.give(nudgeOf());
    failed.heard("StopFailure");
    expect(await first).toEqual({ kind: "not-sent", because: "no-input" });
    const over = nudgeByHook();
    over.heard("PreToolUse");
    const second = over.give(nudgeOf());
    over.end();
    expect(await second).toEqual({ kind: "not-sent", because: "over" });
    expect(over.possible()).toBe(false);
    expect(await over.give(nudgeOf())).toEqual({ kind: "not-sent", because: "over" });
  });

  it("is not given when it could not be written down that it is, and not sent when the answer broke off", async () => {
    const nudges = nudgeByHook();
    void nudges.give(nudgeOf({ begin: () => false }));
    expect(nudges.heard("PostToolBatch").answer).toBeNull();
    const broken = nudgeByHook();
    const delivery = broken.give(nudgeOf());
    broken.heard("PostToolBatch").answer?.written?.(false);
    expect(await delivery).toEqual({ kind: "not-sent", because: "not-echoed" });
    expect(broken.heard("PreToolUse").read).toBeNull();
  });
});
