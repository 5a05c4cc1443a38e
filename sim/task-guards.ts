const core = "packages/core/src";
const daemon = "packages/daemon/src";

/** What keeps a task from being lost, given to two, given to the wrong one, or held against the agent that works on it. */
export const taskGuards = [
  {
    name: "a task is given out only when all that it depends on is completed",
    file: `${core}/tasks/supervise-task.ts`,
    find: '      if (!signal.ready) return "not-ready";\n',
    replace: "",
  },
  {
    name: "and to nobody while another has it",
    file: `${core}/tasks/supervise-task.ts`,
    find: '    case "running":\n      return "taken";',
    replace: '    case "running":\n      return null;',
  },
  {
    name: "nor while it is meant for another",
    file: `${core}/tasks/supervise-task.ts`,
    find: '      if (task.reservedFor !== null && task.reservedFor !== signal.agentId) return "taken";\n',
    replace: "",
  },
  {
    name: "only the present claim speaks for a task",
    file: `${core}/tasks/supervise-task.ts`,
    find: '  if (word.claim !== undefined && word.claim !== present) return "claim-lost";\n',
    replace: "",
  },
  {
    name: "a former life has no say",
    file: `${daemon}/agents/roster.ts`,
    find: `if (life !== null && present !== undefined && life < present)\n        throw new Fault("forbidden", \`incarnation \${life} of \${agentId} is over;`,
    replace: `if (life !== null && present !== undefined && life < 0)\n        throw new Fault("forbidden", \`incarnation \${life} of \${agentId} is over;`,
  },
  {
    name: "claim-next gives the most urgent task",
    file: `${core}/tasks/choose-task.ts`,
    find: "  if (a.priority !== b.priority) return urgency(a) > urgency(b);\n",
    replace: "",
  },
  {
    name: "what an agent that is gone had is given back",
    file: `${core}/recover/fate-of-work.ts`,
    find: 'return isGone(after) && !isGone(before) ? { kind: "released", because: "agent-gone" } : null;',
    replace: "return null;",
  },
  {
    name: "and not to that agent again",
    file: `${daemon}/tasks/awaited-tasks.ts`,
    find: "taskId !== null && !claimed && (names || isFree)",
    replace: "taskId !== null && (names || isFree)",
  },
  {
    name: "and what one that says that it is done had",
    file: `${core}/recover/fate-of-work.ts`,
    find: '  if (saysDone) return { kind: "completed" };\n',
    replace: "",
  },
  {
    name: "time in which the monitor was blind counts for no timeout",
    file: `${core}/tasks/forgive-blindness.ts`,
    find: "    startedAt += Math.max(0, Math.min(to, until) - Math.max(from, watchedFrom));\n",
    replace: "",
  },
  {
    name: "nor for a stall",
    file: `${core}/tasks/watch-task-clocks.ts`,
    find: "  Math.max(task.updatedAt, lastGap(doubt)?.to ?? task.updatedAt);",
    replace: "  Math.max(task.updatedAt, doubt.gaps.length === 0 ? 0 : task.updatedAt);",
  },
  {
    name: "to mean a claim is no work",
    file: `${core}/tasks/change-task.ts`,
    find: "  return { ...task, state: { ...state, claim: refreshed(state.claim, now) } };\n}",
    replace: "  return { ...task, updatedAt: now, state: { ...state, claim: refreshed(state.claim, now) } };\n}",
  },
  {
    name: "nothing is taken away for its timeout in a freeze",
    file: `${core}/tasks/watch-task-clocks.ts`,
    find: '  frozen || mode === "observe";',
    replace: '  mode === "observe" && (frozen || true);',
  },
  {
    name: "who fails too often gets one task at a time",
    file: `${core}/trust/judge-assignments.ts`,
    find: '      return heldClaims === 0 ? null : "few-assignments";',
    replace: "      return null;",
  },
  {
    name: "nobody is answered before it is saved",
    file: `${daemon}/tasks/serve-tasks.ts`,
    find: "    keep?.answer(report);\n    await commits.saved();\n",
    replace: "    keep?.answer(report);\n    commits.schedule();\n",
  },
  {
    name: "every change of a task is saved",
    file: `${daemon}/tasks/host-tasks.ts`,
    find: "      if (kept.record !== before) save(kept);\n",
    replace: "",
  },
];
