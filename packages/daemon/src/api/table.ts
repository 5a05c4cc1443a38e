import type { IncomingMessage, RequestListener } from "node:http";
import type { Monitor } from "../monitor.ts";
import { agentRoutes, type MaySee } from "./agents.ts";
import { auditRoutes } from "./audit.ts";
import { breakerRoutes } from "./breakers.ts";
import { checkpointRoutes } from "./checkpoints.ts";
import { escalationRoutes } from "./escalations.ts";
import { eventRoutes } from "./events.ts";
import { incidentRoutes } from "./incidents.ts";
import { mcpRoutes } from "./mcp.ts";
import { monitorRoutes } from "./monitor.ts";
import { pingRoutes } from "./ping.ts";
import { rateLimitRoutes } from "./rate-limits.ts";
import type { Route } from "./route.ts";
import { stepRoutes } from "./steps.ts";
import { recoveryRoutes, taskRoutes } from "./tasks.ts";

interface TableOptions {
  readonly version: string;
  /** Signed decisions are checked with it. */
  readonly secret: string;
  /** Whether the token of a request that is still being answered is still valid. */
  readonly isStillWelcome: (request: IncomingMessage) => boolean;
  readonly maySee: MaySee;
  readonly door: () => RequestListener;
}

/** All routes of a daemon, resource by resource. */
export function apiTable(monitor: Monitor, options: TableOptions): { table: readonly Route[]; close(): Promise<void> } {
  const now = () => monitor.readClock().time;
  const { noteRefusedSpeaker, noteBadSignature, help } = monitor;
  const { orders, escalations, checkpoints, tasks, service, recovery } = help;
  const isNamedByAgent = (taskId: string): boolean =>
    monitor.agentsAfter(0, 1, { record: ({ task }) => task.id === taskId, shown: () => true }).agents.length > 0;
  const knowsTask = (taskId: string): boolean => tasks.find(taskId) !== undefined || isNamedByAgent(taskId);
  const { routes: mcp, close } = mcpRoutes({ door: options.door, now });
  const table: readonly Route[] = tagged({
    agents: [...agentRoutes(monitor, options.maySee), ...pingRoutes],
    steps: stepRoutes(monitor),
    tasks: [...taskRoutes({ service, noteRefusedSpeaker }), ...recoveryRoutes(recovery)],
    checkpoints: checkpointRoutes({ checkpoints, noteRefusedSpeaker, holdsTask: tasks.isWorkOf, knowsTask }),
    escalations: escalationRoutes(
      { ...orders, escalationNotice: escalations.notice, howItEnded: escalations.howItEnded, events: monitor.events },
      { secret: options.secret, now, noteBadSignature },
    ),
    breakers: breakerRoutes(help.breakers),
    "rate-limits": rateLimitRoutes(help.rateLimits),
    incidents: incidentRoutes(monitor),
    events: eventRoutes(monitor, options.isStillWelcome),
    audit: auditRoutes(monitor.audit),
    monitor: monitorRoutes(monitor, options.version, () => table),
    mcp,
  });
  return { table, close };
}

const tagged = (resources: Readonly<Record<string, readonly Route[]>>): readonly Route[] =>
  Object.entries(resources).flatMap(([tag, lines]) => lines.map((line) => ({ ...line, tag })));
