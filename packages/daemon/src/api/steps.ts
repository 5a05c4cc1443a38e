import { Fault, StepEvent, StepPage, StepsAck } from "@rouse/contract";
import type { Monitor } from "../monitor.ts";
import { mostSteps } from "../steps/recall-steps.ts";
import { parseJson } from "./parse-json.ts";
import { cursorText, get, limit, ownerAnd, post, type Route, readersAnd, Sent, text } from "./route.ts";

const largestBody = 4 * 1024 * 1024;
const mostEvents = 10_000;

export function stepRoutes(monitor: Pick<Monitor, "takeSteps" | "steps">): Route[] {
  return [
    post("/api/v1/agents/{id}/steps", {
      who: ownerAnd("itself"),
      id: "recordSteps",
      about: "Take one event of its run, an array of them, or one per line",
      request: {
        body: StepEvent,
        read: "inside",
        as: "lines",
        once: true,
        limit: { bytes: largestBody, told: `at most ${largestBody / 1024 / 1024} MiB in one request` },
      },
      answer: { 200: StepsAck, 400: StepsAck },
      async run({ id, body, agent, reply, keep }) {
        const { sent, many } = readEvents(body);
        if (sent.length > mostEvents) throw new Fault("body-too-large", `at most ${mostEvents} events in one request`);
        const ack = await monitor.takeSteps(id, sent, agent?.incarnation ?? null, keep);
        if (!many && ack.accepted === 0) reply.code(400);
        return ack;
      },
    }),
    get("/api/v1/agents/{id}/steps", {
      who: readersAnd("itself"),
      id: "listSteps",
      about: "What is kept of its steps: the newest, oldest first; the next page is older",
      request: {
        query: {
          limit: limit(1000, mostSteps),
          after: text("only what came after `last` of an earlier answer"),
          cursor: cursorText,
        },
      },
      answer: { 200: StepPage },
      faults: ["agent-unknown"],
      run: ({ id, query: { limit, after, cursor } }) =>
        monitor.steps(id, {
          limit,
          ...(after === undefined ? {} : { after }),
          ...(cursor === undefined ? {} : { cursor }),
        }),
    }),
  ];
}

function readEvents(body: unknown): { sent: readonly unknown[]; many: boolean } {
  if (!(body instanceof Sent)) return Array.isArray(body) ? { sent: body, many: true } : { sent: [body], many: false };
  const lines = body.text.split("\n").filter((line) => line.trim() !== "");
  // Too many are refused without parsing them.
  return { sent: lines.length > mostEvents ? lines : lines.map(parseLine), many: true };
}

/** A broken line becomes an event that is rejected, so that the others are taken. */
function parseLine(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return null;
  }
}
