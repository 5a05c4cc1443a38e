import type { EscalationReason, EscalationReport, FindingKind, RemediationHint } from "@rouse/contract";

/**
 * AGENT and ESCALATION stand for ids, whose schema allows only plain characters. Nothing else gets into these texts.
 */
type Advice = readonly [text: string, command: string];

const look = "rouse why AGENT";
const watch = "rouse logs AGENT --tail 100";
const takeOver = "rouse attach AGENT";
const stop = "rouse terminate AGENT";
const startAgain = "rouse recover AGENT";
const moreTime = "rouse escalations decide ESCALATION allow_more_time";
const bringBack = "rouse escalations decide ESCALATION terminate_and_recover";

/** These work only for an agent that Rouse started. */
const forSupervised: ReadonlySet<string> = new Set([watch, takeOver, stop, startAgain, bringBack]);

const loop = (what: string): Advice => [
  `${what}; say what is wrong with it, or let it start over`,
  "rouse nudge AGENT",
];

const byReason: Readonly<Record<EscalationReason, Advice>> = {
  "nudges-unanswered": ["it was reminded and did not react: bring it back, or look what it is at first", bringBack],
  "nudges-undelivered": ["no reminder could be given to it, so its silence says nothing: look what it is at", look],
  "falls-back": ["each reminder helped for a moment only: say what is wrong with it, or let it start over", bringBack],
  "no-way-to-nudge": [
    "it takes no words: let it send heartbeats and read `commands`, or start it with rouse run",
    look,
  ],
  "not-supervised": ["Rouse did not start it and cannot stop it: look after it where it runs", look],
  "one-kind-of-evidence": ["only one kind of evidence speaks against it, too little to stop it unasked", look],
  "handoff-requested": ["it asks to hand its work over", "rouse escalations decide ESCALATION force_handoff"],
  "blocker-reported": ["it says that something is in its way: clear that first, then give it time", moreTime],
  "unchanged-finding": ["a warning has stood for long and nothing came of it", look],
  "more-time-used-up": ["it was given more time and is no better", bringBack],
  "restarts-exhausted": ["it keeps going down: see how it ends before it is started once more", watch],
  "recoveries-exhausted": ["it was brought back as often as allowed: review the task before the next attempt", look],
  "limit-over": ["it ended at its provider's limit, which is over: let it go on", startAgain],
  relapse: ["its replacement fell ill again: starting over did not cure it", look],
  mode: ["its policy does not let Rouse stop it (mode): a person has to, or the mode is changed to act", stop],
  protected: ["its policy protects it from being stopped: only a person may", stop],
  attached: ["somebody is attached to its terminal: ask them, or take it over", takeOver],
  "holder-lost": ["the process that holds its terminal is gone: end it and start it again", startAgain],
  "work-not-saved": [
    "its working tree could not be saved: see to the repository, then decide; terminate --force stops it unsaved",
    look,
  ],
  ordered: ["a person asked for a decision", look],
  "mass-silence": [
    "many fell silent at once: look at what they share (machine, network, orchestrator) before you look at each",
    "rouse ps",
  ],
  "mass-failure": [
    "many ended at once: look at what they share (memory, disk, provider, a deploy) before you look at each",
    "rouse ps --all",
  ],
};

const byFinding: Readonly<Record<FindingKind, Advice>> = {
  "missed-beats": ["is its process there, and can it reach Rouse? rouse doctor checks this side", "rouse doctor"],
  "sequence-restarted": ["it counts its beats from the start again: a new process must give a new incarnation", look],
  "stale-checkpoint": ["it works without saving: allow time if the step is known to be long", moreTime],
  "no-progress": ["nothing new has come of its work", watch],
  "no-tool-call": ["it talks or thinks without doing anything", "rouse nudge AGENT"],
  "zero-tokens": ["it spends no tokens: is the provider reachable and the key valid?", watch],
  "token-spike": ["it spends far more tokens than usual: look for a loop or an oversized context", look],
  "error-rate": ["many of its calls fail: see which, and whether the service behind them is up", look],
  "consecutive-failures": ["its calls fail one after the other: see the error before it is brought back", look],
  "breaker-open": ["what it calls failed several times in a row: mend that, then reset its breaker", "rouse breakers"],
  "task-not-started": ["there is work for it that it has not begun", "rouse nudge AGENT"],
  "self-reported": ["it says itself that it is not well", look],
  "run-failed": ["it says itself that its run failed: mend it, and the next good run clears this", look],
  "memory-pressure": ["it is close to its memory limit: raise the limit or bring it back", bringBack],
  "no-output": ["its terminal is silent: see what is on the screen", takeOver],
  "repeated-error": ["the same error again and again: mend its cause, or it comes back with the agent", watch],
  "token-burn": ["it spends tokens and nothing comes of it", look],
  "completion-timeout": ["it went quiet without saying that it is done: see whether it is", watch],
  "context-exhausted": ["its context is full: a hand-off to a fresh one helps, more time does not", bringBack],
  "spinning-on-file": ["it changes the same file over and over", watch],
  "rate-limited": ["its provider makes it wait: more time costs nothing", moreTime],
  "task-timed-out": ["its task timed out and it goes on with it: stop it, or give it the task again", stop],
  "request-retried": ["its requests come to nothing: is the provider up, and the network?", watch],
  "process-exited": ["its process is gone: see how it ended", watch],
  "holder-lost": ["the process that holds its terminal is gone", startAgain],
  "api-errors": ["its provider answers with errors: see the provider's status before it is brought back", watch],
  "overdue-call": ["a call of it is open for longer than its program allows: bring it back, or look first", watch],
  "memory-limit": ["it uses more memory than its policy allows: raise the limit or bring it back", bringBack],
  "identical-step": loop("it repeats the same call and gets the same result"),
  "identical-call": loop("it repeats the same call"),
  "identical-change": loop("it makes the same change again"),
  cycle: loop("it goes round in a circle of the same steps"),
  "error-class": loop("it runs into the same kind of error whatever it tries"),
  "error-streak": ["everything it tries fails: see the errors, the cause may lie outside", look],
  "blocked-call": ["one call fails the same way whatever it changes: mend what it needs, or forbid the call", look],
  "replies-only": loop("it only talks and calls no tool"),
  "same-words": loop("it says the same again"),
  "no-novelty": loop("nothing it does is new any more"),
  "stale-results": loop("it reads what it has read before"),
};

/** Where and how an escalation is answered. */
export const howToAnswer = ({ id }: Pick<EscalationReport, "id">) => ({
  path: `/api/v1/escalations/${encodeURIComponent(id)}/decision`,
  command: `rouse escalations decide ${id} DECISION`,
});

/** What a person could do: first about the reason of the question, then about each finding, in the given order. */
export function hintsFor(
  { id, agentId, reason }: Pick<EscalationReport, "id" | "agentId" | "reason">,
  findings: readonly FindingKind[],
  supervised: boolean,
): RemediationHint[] {
  const hint = (because: RemediationHint["because"], [text, command]: Advice): RemediationHint => {
    const usable = supervised || !forSupervised.has(command) ? command : look;
    return { because, text, command: usable.replace(/AGENT|ESCALATION/, (name) => (name === "AGENT" ? agentId : id)) };
  };
  return [hint(reason, byReason[reason]), ...[...new Set(findings)].map((kind) => hint(kind, byFinding[kind]))];
}
