import { type OpenWork, WaitKind } from "./health.ts";
import { agentStatuses, type Heartbeat } from "./heartbeat.ts";

const id = /^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}$/;
const statuses: ReadonlySet<unknown> = new Set(agentStatuses);

const isId = (value: unknown): boolean => value === undefined || (typeof value === "string" && id.test(value));
const isIdOrNull = (value: unknown): boolean => value === null || isId(value);
const isCount = (value: unknown): boolean =>
  value === undefined || (typeof value === "number" && Number.isSafeInteger(value) && value >= 0);
const isText = (value: unknown, longest: number): boolean =>
  value === undefined || value === null || (typeof value === "string" && value.length <= longest);
const isTime = (value: unknown): boolean =>
  value === undefined || (typeof value === "string" && value.length <= 64 && !Number.isNaN(Date.parse(value)));
const isStatus = (value: unknown): boolean => value === undefined || statuses.has(value);

const waitKinds: ReadonlySet<unknown> = new Set(WaitKind.options);
const isWait = (value: unknown): boolean => value === undefined || waitKinds.has(value);

/** `false` when the value is not plainly an open tool or model request. */
function readOpen(value: unknown): OpenWork | null | undefined | false {
  if (value === undefined || value === null) return value;
  if (typeof value !== "object") return false;
  const { kind, name, timeoutSeconds } = value as Partial<OpenWork>;
  if (kind !== "tool" && kind !== "model") return false;
  if (name !== undefined && (typeof name !== "string" || name.length > 200)) return false;
  if (
    timeoutSeconds !== undefined &&
    !(typeof timeoutSeconds === "number" && timeoutSeconds >= 0 && timeoutSeconds <= 604_800)
  )
    return false;
  return { kind, name, timeoutSeconds };
}

/**
 * Recognises the ordinary heartbeat at a fraction of the schema's cost; this runs for every beat. It accepts only what
 * the schema `Heartbeat` accepts, with the same result; a test holds the two together. `null` means "ask the schema",
 * which also says what is wrong.
 */
export function recogniseHeartbeat(message: Record<string, unknown>): Heartbeat | null {
  const m = message as Partial<Heartbeat>;
  if (m.agentId === undefined || m.healthMetrics !== undefined || m.checksum !== undefined) return null;
  if (m.breakers !== undefined || m.everySeconds !== undefined || m.graceSeconds !== undefined) return null;
  if (m.seen !== undefined || m.seenBy !== undefined || m.answer !== undefined) return null;
  const open = readOpen(m.open);
  const isOrdinary =
    open !== false &&
    isId(m.agentId) &&
    isIdOrNull(m.taskId) &&
    isCount(m.sequenceNumber) &&
    isTime(m.timestamp) &&
    isStatus(m.status) &&
    isWait(m.waitingFor) &&
    isTime(m.waitingUntil) &&
    isText(m.phase, 200) &&
    isText(m.progressIndicator, 1000) &&
    isText(m.lastToolCall, 200) &&
    isText(m.lastCheckpoint, 200) &&
    isCount(m.tokenCount) &&
    isCount(m.errorCount) &&
    isCount(m.toolCallCount) &&
    isCount(m.incarnation) &&
    m.incarnation !== 0 &&
    isId(m.agentType) &&
    isId(m.node);
  if (!isOrdinary) return null;
  // The object always has the same shape, whatever was left out, so that code which reads it stays fast.
  return {
    agentId: m.agentId,
    taskId: m.taskId,
    incarnation: m.incarnation,
    sequenceNumber: m.sequenceNumber,
    timestamp: m.timestamp,
    status: m.status,
    waitingFor: m.waitingFor,
    waitingUntil: m.waitingUntil,
    open,
    phase: m.phase,
    progressIndicator: m.progressIndicator,
    lastToolCall: m.lastToolCall,
    lastCheckpoint: m.lastCheckpoint,
    tokenCount: m.tokenCount,
    errorCount: m.errorCount,
    toolCallCount: m.toolCallCount,
    agentType: m.agentType,
    node: m.node,
    healthMetrics: undefined,
    checksum: undefined,
  };
}
