import type { Step } from "./step.ts";

// Unknown never equals unknown: two calls whose arguments were not recorded are two calls.

export const isSameCall = (a: Step, b: Step): boolean => a.args !== null && a.args === b.args && a.tool === b.tool;

/** The very same, or the same but for particulars such as line numbers and times. */
export const isSameResult = (a: Step, b: Step): boolean =>
  (a.result !== null && a.result === b.result) || (a.resultClass !== null && a.resultClass === b.resultClass);

export const changedSomething = (step: Step): boolean => step.class === "changes" && step.failed !== true;
