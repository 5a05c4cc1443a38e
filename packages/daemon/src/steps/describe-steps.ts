import { type FindingKind, loopKinds, type StepReport } from "@rouse/contract";
import type { AgentRecord, Finding, StepTrail } from "@rouse/core";

/** As many as fit on a screen beside each other. */
const mostShown = 12;

interface Shown {
  readonly event: number;
  readonly tool: string | null;
  readonly args: string | null;
  readonly result: string | null;
  readonly resultClass: string | null;
  readonly failed: boolean | null;
}

/** An agent's last steps with a letter for each distinct digest: repetition shows, content does not. */
export function describeSteps({ seen: { steps }, health: { findings } }: AgentRecord): StepReport[] {
  if (steps === null) return [];
  const evidence = evidenceOf(findings);
  const letterOfArgs = letters();
  const letterOfResult = letters();
  return lastOf(steps).map(({ event, tool, args, result, resultClass, failed }) => ({
    event,
    tool,
    args: args === null ? null : letterOfArgs(`${tool}\n${args}`, null),
    result: result === null ? null : letterOfResult(result, resultClass),
    failed,
    evidence: evidence.has(event),
  }));
}

function lastOf({ steps, said }: StepTrail): Shown[] {
  const noCall = { tool: null, args: null, failed: null };
  const replies = said.map(
    ({ event, text, textClass }): Shown => ({ event, ...noCall, result: text, resultClass: textClass }),
  );
  return [...steps, ...replies].sort((a, b) => a.event - b.event).slice(-mostShown);
}

const loops: ReadonlySet<FindingKind> = new Set<FindingKind>(loopKinds);

function evidenceOf(findings: readonly Finding[]): ReadonlySet<number> {
  const lists = findings.filter(({ kind }) => loops.has(kind)).map(({ evidence }) => String(evidence["events"] ?? ""));
  return new Set(lists.flatMap((list) => list.split(" ")).map(Number));
}

/** The same digest gets the same letter; a digest of a known class gets that one's letter and a tilde. */
function letters(): (digest: string, digestClass: string | null) => string {
  const byDigest = new Map<string, string>();
  const byClass = new Map<string, string>();
  return (digest, digestClass) => {
    const known = byDigest.get(digest);
    if (known !== undefined) return known;
    const similar = digestClass === null ? undefined : byClass.get(digestClass);
    const letter = similar === undefined ? String.fromCharCode("A".charCodeAt(0) + distinct(byDigest)) : `${similar}~`;
    byDigest.set(digest, letter);
    if (digestClass !== null && similar === undefined) byClass.set(digestClass, letter);
    return letter;
  };
}

const distinct = (byDigest: ReadonlyMap<string, string>): number =>
  [...byDigest.values()].filter((letter) => !letter.endsWith("~")).length;
