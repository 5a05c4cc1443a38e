export { beatRhythm } from "./accept/beat-rhythm.ts";
export { workedSince } from "./accept/work-clock.ts";
export { silenceCountsFrom } from "./assess/missed-beats.ts";
export { newestFact } from "./assess/moved-since.ts";
export { isConversationFull } from "./assess/terminal-signs.ts";
export {
  type BreakerRecord,
  type BreakerSignal,
  breakerMachine,
  breakerName,
  failuresOf,
  newBreaker,
  tellAgent,
} from "./breakers/breaker-machine.ts";
export { noteBreaker } from "./breakers/open-breakers.ts";
export type * from "./context.ts";
export { whatHoldsBack } from "./decide/choose-way-back.ts";
export { isEnough, kindsOfEvidence } from "./decide/evidence.ts";
export { brakeOf, killBudgetMachine, noKills } from "./decide/kill-budget.ts";
export { refuseKill } from "./decide/kill-gate.ts";
export * from "./doubt.ts";
export { eyesOn } from "./eyes.ts";
export * from "./facts.ts";
export { type FleetDoings, type FleetIncident, type SavedFleet, summariseFleet } from "./fleet/fleet-incident.ts";
export { type FleetIncidents, type FleetMember, keepFleetIncidents } from "./fleet/fleet-incidents.ts";
export { describeMember, describeStanding } from "./fleet/standing.ts";
export { presenceOf } from "./fleet/watch-deaths.ts";
export { type FleetNews, type FleetWatch, type Standing, watchFleet } from "./fleet/watch-fleet.ts";
export { foresee } from "./foresee.ts";
export * from "./incident.ts";
export { openEscalation } from "./intervene/escalation-life.ts";
export { isComingBack } from "./intervene/obey-order.ts";
export { isStanding, limitSeenToAt } from "./limit.ts";
export type { Letter, Machine, Stepped } from "./machine.ts";
export {
  idleFrom,
  newRateLimit,
  type RateLimitRecord,
  rateLimitMachine,
  type TakeReply,
} from "./rate-limits/rate-limit-machine.ts";
export { readRecord } from "./read-record.ts";
export * from "./record.ts";
export { type CheckpointLink, chooseCheckpoint, isUsable } from "./recover/choose-checkpoint.ts";
export { type Fate, fateOfWork } from "./recover/fate-of-work.ts";
export { howOver, isExited, isGoneForGood, isLifeOver, type Over, refuseRemoval, worksOn } from "./recover/how-over.ts";
export { isToldByTyping, resumeCommand, takesUpConversation } from "./recover/resume-command.ts";
export { restartsAllowed, runsOnce } from "./restart-rule.ts";
export * from "./signal.ts";
export { digestEvent } from "./steps/digest-event.ts";
export { type EndedCall, endedCalls } from "./steps/ended-calls.ts";
export type { StepTrail } from "./steps/step.ts";
export { isOfProgram, stepOfSight } from "./steps/step-of-sight.ts";
export { agentMachine, relearn, supervise } from "./supervise.ts";
export { chooseTask, isTaskReady } from "./tasks/choose-task.ts";
export { taskMachine } from "./tasks/supervise-task.ts";
export * from "./tasks/task-record.ts";
export type * from "./tasks/task-signal.ts";
export { timeoutDue } from "./tasks/watch-task-clocks.ts";
export {
  chooseFamily,
  findProgram,
  isCodexExec,
  optionsOfClaude,
  optionsOfCodex,
  printsStream,
} from "./terminal/choose-family.ts";
export type { TypingScreen } from "./terminal/find-input.ts";
export { joinEyes, startJoining } from "./terminal/join-eyes.ts";
export { patternsFor } from "./terminal/patterns.ts";
export {
  blankOwnWords,
  expectEcho,
  findPlaceToType,
  isTaken,
  lineToType,
  type Place,
  readEcho,
  type Typed,
} from "./terminal/place-to-type.ts";
export { readLines, startReading } from "./terminal/read-lines.ts";
export { overtake, type ReadableScreen, readScreen, showsWork, startWatching } from "./terminal/read-screen.ts";
export * from "./terminal/reading.ts";
export { messageLine, replayedText, takesMessages } from "./terminal/streams/claude-messages.ts";
export {
  answersByMessage,
  followSteered,
  followWords,
  type SteeredWords,
  type TypedWords,
} from "./terminal/streams/follow-words.ts";
export {
  findCompletion,
  hasWords,
  readHook,
  readSessionLine,
  readStreamLine,
  startStream,
} from "./terminal/streams/read-stream.ts";
export { findWayToInterrupt, interruptLine } from "./terminal/way-to-interrupt.ts";
export type * from "./terminal-facts.ts";
export { tellsSteps } from "./terminal-facts.ts";
export * from "./trust/judge-assignments.ts";
