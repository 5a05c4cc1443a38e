export type BeatForm = "single" | "array" | "lines" | "look";

export interface RequestPlan {
  readonly port: number;
  readonly token: string;
  /** `look` asks for one agent instead of beating for it. */
  readonly form: BeatForm;
  readonly beatsPerRequest: number;
  /** Beat n is of agent n modulo this many. */
  readonly agents: number;
  /** The numbers on an agent's beats count up from here, one per round through all agents. */
  readonly firstSequence: number;
  readonly status: "RUNNING" | "IDLE";
  /** Keeps the agents of one scenario apart from those of another. */
  readonly prefix: string;
}

/**
 * A whole HTTP/1.1 request whose changing digits are overwritten in place, so that building one costs next to nothing.
 */
export interface PreparedRequest {
  readonly bytes: Buffer;
  /** Makes it the request that carries beats `firstBeat` and following. */
  address(firstBeat: number): void;
}

const agentMark = "#agent-no#";
const sequenceMark = "#sequence#";
const timeMark = "#the-time-of-the-beat--#";
const digits = 10;
/** Numbers in JSON have no leading zeros, so counting starts where they need none. */
const smallestSequence = 1_000_000_000;

export function prepareRequest(plan: RequestPlan): PreparedRequest {
  const bytes = Buffer.from(requestText(plan), "latin1");
  const agentSpots = spotsOf(bytes, agentMark);
  const sequenceSpots = spotsOf(bytes, sequenceMark);
  const timeSpots = spotsOf(bytes, timeMark);
  const agentSpotsPerBeat = agentSpots.length / plan.beatsPerRequest;
  const sequenceSpotsPerBeat = sequenceSpots.length / plan.beatsPerRequest;
  return {
    bytes,
    address(firstBeat) {
      let agentSpot = 0;
      let sequenceSpot = 0;
      for (let i = 0; i < plan.beatsPerRequest; i++) {
        const agent = (firstBeat + i) % plan.agents;
        const sequence = smallestSequence + plan.firstSequence + Math.floor((firstBeat + i) / plan.agents);
        for (let n = 0; n < agentSpotsPerBeat; n++) writeDigits(bytes, agentSpots[agentSpot++] ?? 0, agent);
        for (let n = 0; n < sequenceSpotsPerBeat; n++) writeDigits(bytes, sequenceSpots[sequenceSpot++] ?? 0, sequence);
      }
      const time = new Date().toISOString();
      for (const spot of timeSpots) bytes.write(time, spot, "latin1");
    },
  };
}

function requestText(plan: RequestPlan): string {
  const headers = [`Host: 127.0.0.1:${plan.port}`, `Authorization: Bearer ${plan.token}`];
  if (plan.form === "look") {
    return [`GET /api/v1/agents/${plan.prefix}-${agentMark} HTTP/1.1`, ...headers, "", ""].join("\r\n");
  }
  const body = bodyText(plan);
  const type = plan.form === "lines" ? "application/x-ndjson" : "application/json";
  return [
    "POST /api/v1/heartbeats HTTP/1.1",
    ...headers,
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}

function bodyText(plan: RequestPlan): string {
  const beats = Array.from({ length: plan.beatsPerRequest }, () => beatText(plan));
  if (plan.form === "array") return `[${beats.join(",")}]`;
  return plan.form === "lines" ? `${beats.join("\n")}\n` : beats.join("");
}

/** About 250 bytes, and what a coding agent would send: its counters and its progress move with every beat. */
function beatText({ prefix, status }: RequestPlan): string {
  return (
    `{"agentId":"${prefix}-${agentMark}","taskId":"task-${agentMark}","sequenceNumber":${sequenceMark},` +
    `"timestamp":"${timeMark}","status":"${status}","phase":"implementing","progressIndicator":"step ${sequenceMark}",` +
    `"tokenCount":${sequenceMark},"errorCount":0,"toolCallCount":42}`
  );
}

function spotsOf(bytes: Buffer, mark: string): number[] {
  const spots: number[] = [];
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + mark.length)) spots.push(at);
  return spots;
}

function writeDigits(bytes: Buffer, offset: number, value: number): void {
  let rest = value;
  for (let i = offset + digits - 1; i >= offset; i--) {
    const next = Math.floor(rest / 10);
    bytes[i] = 48 + rest - next * 10;
    rest = next;
  }
}
