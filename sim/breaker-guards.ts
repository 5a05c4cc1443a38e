const core = "packages/core/src";

/** What keeps an agent from harm by its circuit breakers, and an attempt to bring it back from being the same again. */
export const breakerGuards = [
  {
    name: "only the breaker of all its tools makes an agent FAILING",
    file: `${core}/assess/open-breaker.ts`,
    find: 'const stands = guarded === "tools" && ',
    replace: "const stands = ",
  },
  {
    name: "and a breaker of a provider never does",
    file: `${core}/assess/open-breaker.ts`,
    find: 'if (guarded === "api") return { ...judged, level: "degraded", confidence: 0.4 };',
    replace: 'if (guarded === "api") return { ...judged, level: "failing", confidence: 0.9 };',
  },
  {
    name: "nor any breaker of one that gets somewhere",
    file: `${core}/assess/open-breaker.ts`,
    find: 'state === "OPEN" && !gets && ',
    replace: 'state === "OPEN" && ',
  },
  {
    name: "a few calls that fail are a warning, where nobody but Rouse counts them in a breaker",
    file: `${core}/assess/open-breaker.ts`,
    find: 'source === "agent" || (hasReopened(breaker) && ',
    replace: 'source === "agent" || (',
  },
  {
    name: "a loop keeps its nudge when a breaker opens beside it",
    file: `${core}/assess/open-breaker.ts`,
    find: " && !goesInCircles(record)",
    replace: "",
  },
  {
    name: "who waits for the next try of its breaker is not at rest",
    file: `${core}/assess/open-breaker.ts`,
    find: '      ...(waits ? { waits: "yes" } : {}),\n',
    replace: "",
  },
  {
    name: "and nothing is known of one that has not tried since",
    file: `${core}/assess/open-breaker.ts`,
    find: "(!hasReopened(breaker) || ",
    replace: "(",
  },
  {
    name: "failures in a breaker are no other evidence than in a loop",
    file: `${core}/assess/open-breaker.ts`,
    find: '"explicit-error" : "repetition"',
    replace: '"explicit-error" : "explicit-error"',
  },
  {
    name: "of a breaker that nobody tries nothing is left after a while",
    file: `${core}/breakers/open-breakers.ts`,
    find: "agesOutAt === null || agesOutAt > now",
    replace: "true",
  },
  {
    name: "a breaker of checkpoints that is not closed takes a snapshot before the stop",
    file: `${core}/decide/kill-gate.ts`,
    find: " || mayLackCheckpoints(record.seen.breakers)",
    replace: "",
  },
  {
    name: "the breaker before an agent's recovery holds back what failed three times",
    file: `${core}/decide/choose-way-back.ts`,
    find: '  if (now < opensAt) return holdBack("breaker-open", opensAt);\n',
    replace: "",
  },
  {
    name: "and that breaker lets a person through",
    file: `${core}/recover/restart-life.ts`,
    find: ", gate: reopenGate(record.recovery.gate, now) };",
    replace: " };",
  },
];
