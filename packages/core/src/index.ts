export { beatRhythm, type Rhythm } from "./accept/beat-rhythm.ts";
export { workedSince } from "./accept/work-clock.ts";
export { silenceCountsFrom } from "./assess/missed-beats.ts";
export { newestFact } from "./assess/moved-since.ts";
export { isConversationFull } from "./assess/terminal-signs.ts";
export type * from "./context.ts";
export { type ClockFault, type ClockReading, doubtClocks, steadyElapsed } from "./decide/doubt-clocks.ts";
export { isEnough, kindsOfEvidence } from "./decide/evidence.ts";
export { brakeOf, type KillBudgetRecord, type KillSignal, killBudgetMachine, noKills } from "./decide/kill-budget.ts";
export { refuseKill } from "./decide/kill-gate.ts";
export * from "./doubt.ts";
export { type Eye, eyesOn, type Seen } from "./eyes.ts";
export * from "./facts.ts";
export {
  type DecidedForAll,
  type FleetDoings,
  type FleetIncident,
  type SavedFleet,
  summariseFleet,
} from "./fleet/fleet-incident.ts";
export { type FleetIncidents, keepFleetIncidents, type StandsSo } from "./fleet/fleet-incidents.ts";
export { describeStanding, standsSo } from "./fleet/standing.ts";
export { presenceOf } from "./fleet/watch-deaths.ts";
export { type FleetNews, type FleetWatch, type Standing, watchFleet } from "./fleet/watch-fleet.ts";
export { type Foreseen, foresee } from "./foresee.ts";
export * from "./incident.ts";
export { openEscalation } from "./intervene/escalation-life.ts";
export { isComingBack } from "./intervene/obey-order.ts";
export { isStanding, limitSeenToAt } from "./limit.ts";
export type { Letter, Machine, Stepped } from "./machine.ts";
export { readRecord } from "./read-record.ts";
export * from "./record.ts";
export { type CheckpointChoice, type CheckpointLink, chooseCheckpoint, isUsable } from "./recover/choose-checkpoint.ts";
export { type Fate, fateOfWork } from "./recover/fate-of-work.ts";
export { howOver, isExited, type Over, refuseRemoval, worksOn } from "./recover/how-over.ts";
export { isGoneForGood, isLifeOver } from "./recover/life-over.ts";
export { isToldByTyping, resumeCommand } from "./recover/resume-command.ts";
export { takesUpConversation } from "./recover/takes-up-conversation.ts";
export { restartsAllowed, runsOnce } from "./restart-rule.ts";
export * from "./signal.ts";
export { digestEvent } from "./steps/digest-event.ts";
export type { Reply as StepReply, Step, StepTrail } from "./steps/step.ts";
export { isOfProgram, stepOfSight } from "./steps/step-of-sight.ts";
export { agentMachine, relearn, supervise } from "./supervise.ts";
export { chooseTask, isTaskReady } from "./tasks/choose-task.ts";
export { superviseTask, taskMachine } from "./tasks/supervise-task.ts";
export { type TakenTask, takenFrom, takenMeanwhile } from "./tasks/taken-from.ts";
export { timeoutDue } from "./tasks/task-deadlines.ts";
export * from "./tasks/task-record.ts";
export type * from "./tasks/task-signal.ts";
export { chooseFamily, findProgram } from "./terminal/choose-family.ts";
export type { Input, TypingScreen } from "./terminal/find-input.ts";
export { type JoinedEyes, joinEyes, startJoining } from "./terminal/join-eyes.ts";
export { lineToType } from "./terminal/line-to-type.ts";
export { blankOwnWords } from "./terminal/own-words.ts";
export { patternsFor } from "./terminal/patterns.ts";
export { expectEcho, findPlaceToType, isTaken, type Place, readEcho, type Typed } from "./terminal/place-to-type.ts";
export { type LineState, readLines, startReading } from "./terminal/read-lines.ts";
export { replayedText } from "./terminal/read-replay.ts";
export {
  overtake,
  type ReadableScreen,
  readScreen,
  type ScreenState,
  showsWork,
  startWatching,
} from "./terminal/read-screen.ts";
export * from "./terminal/reading.ts";
export { followSteered, type SteeredWords } from "./terminal/streams/follow-steered.ts";
export { answersByMessage, followWords, type TypedWords } from "./terminal/streams/follow-words.ts";
export { isCodexExec, optionsOfClaude, optionsOfCodex, printsStream } from "./terminal/streams/prints-stream.ts";
export { hasWords, readHook, readSessionLine } from "./terminal/streams/read-session-file.ts";
export { findCompletion, readStreamLine, type StreamState, startStream } from "./terminal/streams/read-stream.ts";
export { messageLine, takesMessages } from "./terminal/streams/takes-messages.ts";
export { findWayToInterrupt, interruptLine, type WayToInterrupt } from "./terminal/way-to-interrupt.ts";
export type * from "./terminal-facts.ts";
export { tellsSteps } from "./terminal-facts.ts";
export * from "./trust/judge-assignments.ts";
