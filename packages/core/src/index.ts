export { beatRhythm, type Rhythm } from "./accept/beat-rhythm.ts";
export { workedSince } from "./accept/work-clock.ts";
export { silenceCountsFrom } from "./assess/missed-beats.ts";
export { type ClockReading, type ClockTrouble, doubtClocks, steadyElapsed } from "./decide/doubt-clocks.ts";
export { type FleetNews, type FleetWatch, type Standing, watchFleet } from "./decide/watch-fleet.ts";
export * from "./doubt.ts";
export * from "./record.ts";
export * from "./signal.ts";
export { relearn, supervise } from "./supervise.ts";
