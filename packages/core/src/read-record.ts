import type { MonoMs, Restraint } from "@rouse/contract";
import type { Incident, NudgeLife } from "./incident.ts";
import { type AgentRecord, type Finding, newRecord } from "./record.ts";
import type { TerminalFacts } from "./terminal-facts.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Fields that had another name before records had groups. */
const formerNames: Fields = {
  "task.id": "taskId",
  "task.assignedAt": "taskAssignedAt",
  "task.claimed": "taskClaimed",
  "work.clock": "work",
  "ending.refused": "stopRefused",
  "recovery.attempts": "recoveries",
};

/** Reads a saved record, also one of an earlier version without later fields. */
export function readRecord(json: string): AgentRecord {
  const parsed = JSON.parse(json);
  const saved: AgentRecord = "life" in parsed ? parsed : inGroups(parsed);
  const { agentId, identity, life, task, seen, ladder } = saved;
  const { agentType, node } = identity;
  const { incarnation, gapsSeen, bornAt } = life;
  const born = newRecord({ agentId, agentType, node, incarnation, taskId: task.id, gapsSeen }, bornAt);
  const { terminal = null } = seen;
  return {
    agentId,
    identity: { ...born.identity, ...identity },
    life: { ...born.life, ...life },
    task: { ...born.task, ...task },
    work: { ...born.work, ...saved.work },
    beats: { ...born.beats, ...saved.beats },
    seen: {
      ...born.seen,
      ...seen,
      facts: { ...born.seen.facts, ...seen.facts },
      terminal: terminal === null ? null : readTerminal(terminal, life.heardAt),
    },
    health: { ...born.health, ...saved.health, findings: saved.health.findings.map(readFinding) },
    ladder: { ...born.ladder, ...ladder, incident: readIncident(ladder.incident), nudge: readNudge(ladder.nudge) },
    ending: { ...born.ending, ...saved.ending },
    recovery: { ...born.recovery, ...saved.recovery },
    wakeAt: saved.wakeAt,
  };
}

/** Records without groups had all fields side by side; `state`, `since` and `reason` lay in `health`. */
function inGroups(flat: Fields & { readonly health: Fields }): AgentRecord {
  const fields: Fields = { ...flat, ...flat.health };
  const { agentId: _, beats: __, wakeAt: ___, ...born } = newRecord(nobody, 0);
  const groups = Object.entries(born).map(([group, known]) => {
    const named = Object.keys(known).map((name) => [name, String(formerNames[`${group}.${name}`] ?? name)] as const);
    const saved = named.filter(([, former]) => former in fields).map(([name, former]) => [name, fields[former]]);
    return [group, Object.fromEntries(saved)];
  });
  return { agentId: flat["agentId"], beats: flat["beats"], wakeAt: flat["wakeAt"], ...Object.fromEntries(groups) };
}

const nobody = { agentId: "", agentType: null, node: null, incarnation: 0, taskId: null, gapsSeen: 0 };

/** `restrainedBy` was called `held` once. */
function readFinding(saved: Finding & { readonly held?: Restraint }): Finding {
  const { held, ...finding } = saved;
  return held === undefined ? finding : { ...finding, restrainedBy: held };
}

function readTerminal(terminal: TerminalFacts, heardAt: MonoMs): TerminalFacts {
  const { seenAt = heardAt, startedFor = null, idleKill = null, tree } = terminal;
  const { waitBy = null, textWait = null, finishesAt = null, eyes = [] } = terminal;
  const added = { seenAt, startedFor, idleKill, waitBy, textWait, finishesAt, eyes };
  return {
    ...terminal,
    ...added,
    tree: tree === null ? null : { ...unseenTree, ...tree, stirredAt: tree.stirredAt ?? tree.busyAt },
  };
}

const unseenTree = {
  network: null,
  files: null,
  lastRead: { bytes: null, changes: null },
  readsTerminal: null,
  youngestChildAt: null,
  busyBy: [],
};

function readIncident(incident: Incident | null = null): Incident | null {
  if (incident === null) return null;
  const { stage, undelivered = 0 } = incident;
  if (stage.kind === "stopping") {
    const by = stage.cause === "decided" ? "orchestrator" : "rouse";
    return { ...incident, undelivered, stage: { ...stage, actor: stage.actor ?? by, shut: stage.shut ?? null } };
  }
  if (stage.kind !== "escalated") return { ...incident, undelivered };
  const {
    severity,
    openedAt,
    severeSince = severity === "SEV-1" ? openedAt : null,
    askedBefore = 0,
  } = stage.escalation;
  return {
    ...incident,
    undelivered,
    stage: { ...stage, escalation: { ...stage.escalation, severeSince, askedBefore } },
  };
}

const readNudge = (nudge: NudgeLife | null = null): NudgeLife | null =>
  nudge === null ? null : { ...nudge, unseen: nudge.unseen ?? 0, receipt: nudge.receipt ?? false };
