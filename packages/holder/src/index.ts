export { nextIncarnation } from "./claim-name.ts";
export { findCommand } from "./find-command.ts";
export { readOutput, readOutputTimes } from "./output/read-output.ts";
export { findLeftovers } from "./processes/await-leftovers.ts";
export { type HostTier, tierOfHost } from "./processes/cgroup.ts";
export {
  hasMark,
  identityOf,
  isAlive,
  isSame,
  isSupported,
  markVariable,
  type ProcessInfo,
  readAllProcesses,
  readIfThere,
  readProcess,
  type TreeRoot,
} from "./processes/read-processes.ts";
export { stopTree } from "./processes/stop-tree.ts";
export { createTreeWatch, type TreeWatch } from "./processes/watch-tree.ts";
export { type MonitorId, whyRefused } from "./protocol/admit-monitors.ts";
export { createFrameReader, type Frame, inputFrame, jsonFrame } from "./protocol/frames.ts";
export {
  type HolderFiles,
  holderFiles,
  holdersFolder,
  lastLifeFile,
  readSecret,
  readStore,
  storeFile,
} from "./protocol/holder-files.ts";
export type { FromHolder, Order, OutcomeOf, ToHolder } from "./protocol/messages.ts";
export {
  type ExitFile,
  type HolderFile,
  inputOf,
  type ProcessId,
  type Spec,
  type WatchSettings,
  wishesOf,
} from "./protocol/spec.ts";
export { openPlainFile, readBounded, readPlainBytes } from "./read-plain-file.ts";
export { isPast, rememberOrders } from "./socket/obey-orders.ts";
export { calmDown, enterRawMode, leaveFullScreen, pourInto } from "./terminal/own-terminal.ts";
export { writeBeside, writeWhole } from "./write-whole.ts";
