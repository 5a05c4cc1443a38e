/**
 * Nudges for a streaming session of Claude Agent SDK that has nothing to do: prompts of their own, by the query's
 * `streamInput`.
 */
import type { Carried, carryNudges } from "./carry-nudges.ts";
import type { Said } from "./claude-messages.ts";

export interface Prompt {
  readonly type: "user";
  readonly message: { readonly role: "user"; readonly content: string };
  readonly parent_tool_use_id: null;
  /** Not in the midst of a turn that has begun meanwhile. */
  readonly priority: "later";
  /** As written: what looks like a command or names a file is neither. */
  readonly client_composed: true;
}

/** What `query()` returns. */
export interface Streaming {
  streamInput?(prompts: AsyncIterable<Prompt>): Promise<void>;
}

export function promptWhenIdle(nudges: ReturnType<typeof carryNudges>) {
  let push: ((prompt: Prompt) => void) | null = null;
  let turn: "runs" | "stopped" | "over" = "runs";
  /** Given to Claude Code, which has not begun with it. */
  let sent: { readonly text: string; readonly carried: Carried } | null = null;
  /** One that came to nothing is for the hooks: a model that is out of order is not asked again and again. */
  let isTrusted = true;

  function offer(): void {
    if (push === null || turn !== "over" || sent !== null || !isTrusted || !nudges.areWaiting()) return;
    const carried = nudges.take();
    const content = carried.texts.join("\n");
    sent = { text: content, carried };
    isTrusted = false;
    const message = { role: "user", content } as const;
    push({ type: "user", message, parent_tool_use_id: null, priority: "later", client_composed: true });
  }

  function leaveToHooks(): void {
    push = null;
    sent?.carried.unanswered();
    sent = null;
  }

  return {
    offer,
    close(): void {
      leaveToHooks();
      turn = "runs";
    },
    /** When what is streamed ends, Claude Agent SDK closes the input, the user's with it: this never ends. */
    open(query: Streaming): void {
      leaveToHooks();
      isTrusted = true;
      const pipe = new TransformStream<Prompt, Prompt>();
      const writer = pipe.writable.getWriter();
      const mine = (prompt: Prompt): void => void writer.write(prompt);
      push = mine;
      const streamed = async (): Promise<void> => query.streamInput?.(endless(pipe.readable.getReader()));
      const ended = (): void => {
        if (push === mine) leaveToHooks();
      };
      // It ends when it cannot be used, or with the query.
      streamed().then(ended, ended);
    },
    /** A turn begins; with one of ours, its nudges are in the request. */
    begins({ prompt }: Said): Carried | null {
      turn = "runs";
      if (sent === null || prompt !== sent.text) return null;
      const { carried } = sent;
      sent = null;
      return carried;
    },
    answered(): void {
      turn = "runs";
      if (sent === null) isTrusted = true;
    },
    /** Claude is done, by its hooks; its result comes after that. */
    stops(): void {
      turn = "stopped";
    },
    /** A result that is read late, when another turn has begun, says nothing. */
    isOver(): boolean {
      if (turn === "stopped") turn = "over";
      return turn === "over";
    },
  };
}

async function* endless(prompts: ReadableStreamDefaultReader<Prompt>): AsyncGenerator<Prompt, void> {
  for (;;) {
    const { value, done } = await prompts.read();
    if (done) return;
    yield value;
  }
}
