import { randomBytes } from "node:crypto";
import {
  type AnswerRefusal,
  DecisionRequest,
  type DurationMs,
  describeIssues,
  type EscalationNotice,
  type WebhookMessage,
} from "@rouse/contract";
import { verifyWebhook } from "@rouse/sdk";
import { readWebhookAddress, whyNotTo } from "../../config/read-webhook-address.ts";
import type { Clock, Timers } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Asked, Orchestrator } from "../../ports/orchestrator.ts";
import { describeFault, isTaken, postSigned, type Receipt } from "./post-signed.ts";

export interface WebhookParts {
  /** Asked before every try, because the configuration may change. `null`: there is no webhook, only the API. */
  url(): string | null;
  /** Whether plain http is allowed into a private network. */
  allowPrivate(): boolean;
  readonly secret: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

const longestTry: DurationMs = 10_000;
const firstPause: DurationMs = 1000;
const longestPause: DurationMs = 60_000;
/** The rest of the time is left to tell a person that nobody took the question. */
const shareForTrying = 0.9;

interface Errand {
  readonly escalation: string;
  readonly message: WebhookMessage;
  readonly stop: AbortController;
}

type Tried = { readonly kind: "over"; readonly asked: Asked } | { readonly kind: "failed"; readonly problem: string };

type Question = Extract<WebhookMessage, { type: "escalation" }>;

const refusals: Readonly<Record<AnswerRefusal, string>> = {
  unsigned: "is not signed",
  wrong: "is not signed for this question with our secret",
  "too-old": "was signed more than 5 minutes from our clock",
  malformed: "has a Rouse-Signature that is none",
};

const over = (asked: Asked): Tried => ({ kind: "over", asked });

/** The orchestrator behind a webhook. A message is sent again until it is taken, unwanted, withdrawn or too late. */
export function openWebhook({ url, allowPrivate, secret, clock, timers, log }: WebhookParts): Orchestrator {
  const underWay = new Set<Errand>();
  let closed = false;

  async function run<T>(escalation: string, message: WebhookMessage, work: (errand: Errand) => Promise<T>): Promise<T> {
    const errand: Errand = { escalation, message, stop: new AbortController() };
    if (closed) throw new Error("the webhook is closed");
    underWay.add(errand);
    try {
      return await work(errand);
    } finally {
      underWay.delete(errand);
    }
  }

  async function deliver(errand: Errand, patience: DurationMs): Promise<Asked> {
    const { signal } = errand.stop;
    const giveUpAt = clock.mono() + patience;
    let problem = "there was no time left to deliver it";
    for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
      const tried = await tryOnce(errand, giveUpAt - clock.mono(), problem);
      if (signal.aborted) return stopped(signal);
      if (tried.kind === "over") return tried.asked;
      problem = tried.problem;
      const left = giveUpAt - clock.mono();
      // When the next pause does not fit any more, the last try comes shortly before the end of the time that is left.
      const wait = pause < left ? pause : left - longestTry;
      if (wait < firstPause) return { problem };
      await rest(wait, signal);
      if (signal.aborted) return stopped(signal);
    }
  }

  async function tryOnce({ message, stop }: Errand, left: DurationMs, lastProblem: string): Promise<Tried> {
    const address = url();
    if (address === null) return over("delivered");
    const to = readWebhookAddress(address, allowPrivate());
    if ("problem" in to) return over({ problem: `escalation.webhook_url ${to.problem}` });
    if (left <= 0) return over({ problem: lastProblem });
    const within = Math.min(left, longestTry);
    const delivery = message.type === "escalation" ? message.id : `${message.id}/over`;
    try {
      const whyNot = (resolved: string) => whyNotTo(to, resolved, allowPrivate());
      const letter = { to, whyNot, delivery, body: JSON.stringify(message), secret, at: clock.wall(), within };
      const receipt = await postSigned(letter, timers, stop.signal);
      if (!isTaken(receipt.status)) return readRefusal(to, receipt.status);
      // The answer to a withdrawal does not matter, nor does one whose request we have aborted.
      if (message.type === "withdrawal" || stop.signal.aborted) return over("delivered");
      return over(await readAnswer(to, message, receipt));
    } catch (error) {
      return { kind: "failed", problem: describeFault(to, error) };
    }
  }

  async function readAnswer(to: URL, { id, nonce }: Question, { body, signature }: Receipt): Promise<Asked> {
    const said = readDecision(body);
    if (said === null) return "delivered";
    if ("unreadable" in said) {
      log.warn(
        { escalation: id, problem: said.unreadable },
        "the decision in the orchestrator's answer cannot be read",
      );
      return "delivered";
    }
    // The signature covers nonce and id, so that an answer counts neither a second time nor for another question.
    const signed = `${nonce}.${id}.${body}`;
    const verdict = signature === null ? "unsigned" : await verifyWebhook(signed, signature, secret, clock.wall());
    if (verdict === "right") return said;
    const problem = `${to.origin} answered with a decision that ${refusals[verdict]}; it was not taken`;
    log.error({ escalation: id, problem }, "a decision that nobody vouches for was refused");
    return { refused: verdict, problem };
  }

  function rest(pause: DurationMs, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        signal.removeEventListener("abort", done);
        resolve();
      };
      const cancel = timers.after(pause, done);
      signal.addEventListener("abort", done);
    });
  }

  async function tellWithdrawn(errand: Errand): Promise<void> {
    const { signal } = errand.stop;
    const first = await tryOnce(errand, longestTry, "");
    if (first.kind === "over" || signal.aborted) return;
    await rest(firstPause, signal);
    if (signal.aborted) return;
    const second = await tryOnce(errand, longestTry, "");
    if (second.kind === "failed" && !signal.aborted)
      log.warn({ escalation: errand.escalation, problem: second.problem }, "a withdrawal could not be delivered");
  }

  return {
    async ask(notice: EscalationNotice, until) {
      const patience = (until - clock.wall()) * shareForTrying;
      const nonce = randomBytes(16).toString("base64url");
      return run(notice.id, { type: "escalation", nonce, ...notice }, (errand) => deliver(errand, patience));
    },
    async withdraw(escalation, agentId, because) {
      if (closed) return;
      for (const errand of underWay) if (errand.escalation === escalation) errand.stop.abort("withdrawn");
      await run(escalation, { type: "withdrawal", id: escalation, agentId, because }, tellWithdrawn);
    },
    close() {
      closed = true;
      for (const errand of underWay) errand.stop.abort("closed");
    },
  };
}

/** A withdrawn question is known to be undelivered. After a close it is not known, and the next monitor tries again. */
function stopped(signal: AbortSignal): Asked {
  if (signal.reason === "withdrawn") return { problem: "it was withdrawn before anybody took it" };
  throw new Error("the webhook was closed while it was being delivered");
}

/** Only 410 (Gone) is final. Anything else may be mended while there is time. */
function readRefusal(to: URL, status: number): Tried {
  if (status === 410) return over({ problem: `${to.origin} does not want escalations any more (410)` });
  const redirect = status >= 300 && status < 400;
  const hint = redirect ? "; redirects are not followed, so escalation.webhook_url must be the last address" : "";
  return { kind: "failed", problem: `${to.origin} answered ${status}${hint}` };
}

/** The decision in the answer's body; `null` when there is none, because the receiver can decide later. */
function readDecision(
  body: string | null,
): { readonly decided: DecisionRequest } | { readonly unreadable: string } | null {
  if (body === null) return { unreadable: "the answer is longer than 64 kB or was never finished" };
  const said = parse(body);
  if (typeof said !== "object" || said === null || !("decision" in said)) return null;
  // Other fields of the answer are ignored.
  const parsed = DecisionRequest.strip().safeParse(said);
  return parsed.success ? { decided: parsed.data } : { unreadable: describeIssues(parsed.error.issues, "answer") };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
