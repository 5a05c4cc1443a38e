import type { AgentFamily, RecoveryContext } from "@rouse/contract";
import type { Spec } from "@rouse/holder";
import { describe, expect, it } from "vitest";
import { planNextLife, withConversation } from "./leave-recovery.ts";

const id = "3f2a9c1e-0b1d-4c55-9d7e-1a2b3c4d5e6f";
const context: RecoveryContext = {
  taskId: null,
  checkpoint: null,
  step: null,
  stepName: null,
  reason: "killed",
  lost: { checkpoints: 0, steps: null, flaws: [], startsOver: true },
  attempt: 1,
  stateFile: null,
  workspace: null,
};
const started = (family: AgentFamily, command: string[], more: Partial<Spec> = {}) =>
  ({ family, command, ...more }) as Spec;
const told = (session: string | null) => ({ context, state: null, session });

describe("the next life of an agent", () => {
  it("goes on with the conversation that its last life told of, and says that it was kept", () => {
    const plan = planNextLife(started("claude-code", ["claude"]), told(id));
    expect(plan).toEqual({ resumed: ["claude", "--resume", id], session: id, opening: null, conversation: "kept" });
    expect(withConversation(told(id), plan).context.lost).toEqual({ ...context.lost, conversation: "kept" });
  });

  it("goes on with the conversation its last life was resumed with, if that ended before it told of one", () => {
    const plan = planNextLife(started("codex", ["codex"], { session: id, resumed: ["codex"] }), told(null));
    expect(plan).toEqual({ resumed: ["codex", "resume", id], session: id, opening: null, conversation: "kept" });
  });

  it("has what is next typed where its command cannot say it, and only if somebody said something at first", () => {
    const typed = planNextLife(started("opencode", ["opencode", "--prompt", "x"]), told("ses_e1b5bfb9dffe8JjM"));
    expect(typed).toMatchObject({ resumed: ["opencode", "--session", "ses_e1b5bfb9dffe8JjM"] });
    expect(typed.opening).toMatch(/^You were stopped and started again/);
    expect(planNextLife(started("opencode", ["opencode"]), told("ses_e1b5bfb9dffe8JjM")).opening).toBeNull();
    expect(planNextLife(started("opencode", ["opencode", "--prompt", "x"]), told(null)).opening).toBeNull();
  });

  it.each([
    ["whose conversation nobody knows", ["claude"], null],
    ["that cannot be told to go on", ["claude", "-p"], id],
  ])("of a program %s starts over, and says that it was lost", (_, command, session) => {
    const plan = planNextLife(started("claude-code", command), told(session));
    expect(plan).toEqual({ resumed: null, session: null, opening: null, conversation: "lost" });
    expect(withConversation(told(session), plan).context.lost.conversation).toBe("lost");
  });

  it("of a command that takes up a conversation by itself is the same command, and nothing was lost", () => {
    const plan = planNextLife(started("claude-code", ["claude", "--continue"]), told(null));
    expect(plan).toEqual({ resumed: null, session: null, opening: null, conversation: "kept" });
    expect(planNextLife(started("codex", ["codex", "resume", "--last"]), told(null)).conversation).toBe("kept");
  });

  it("of such a command has lost it where its program had none, or could not bear to go on with it", () => {
    const again = started("claude-code", ["claude", "--continue"]);
    expect(planNextLife(again, told(null), "").conversation).toBe("lost");
    expect(planNextLife(again, { ...told(id), sessionFull: true }).conversation).toBe("lost");
  });

  it("does not ask again for a conversation that its program lacks, whoever names it, and for another one it does", () => {
    const resumed = started("claude-code", ["claude"], { session: id, resumed: ["claude", "--resume", id] });
    const lost = { resumed: null, session: null, opening: null, conversation: "lost" };
    expect(planNextLife(resumed, told(id), id)).toEqual(lost);
    expect(planNextLife(resumed, told(null), id)).toEqual(lost);
    expect(planNextLife(resumed, told("another-one"), id)).toMatchObject({
      session: "another-one",
      conversation: "kept",
    });
  });

  it("begins a new conversation where the last one is as long as its program can bear, whoever names it", () => {
    const resumed = started("claude-code", ["claude"], { session: id, resumed: ["claude", "--resume", id] });
    const lost = { resumed: null, session: null, opening: null, conversation: "lost" };
    expect(planNextLife(resumed, { ...told(id), sessionFull: true })).toEqual(lost);
    expect(planNextLife(resumed, { ...told(null), sessionFull: true })).toEqual(lost);
  });

  it("of a program that keeps no conversations says nothing of one", () => {
    const plan = planNextLife(started("generic", ["./loop.sh"]), told(null));
    expect(withConversation(told(null), plan).context).toEqual(context);
  });
});
