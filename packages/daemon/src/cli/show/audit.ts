import { createHash, createPublicKey } from "node:crypto";
import type { AnchorVerdict, AuditRecord, AuditVerdict } from "@rouse/contract";
import { drawFacts, drawList, type Fact, type ListColumn, none } from "../text/draw-table.ts";
import { count } from "../text/phrases.ts";
import { type Line, styled, wrapLine } from "../text/styled-text.ts";
import { stamp } from "../text/tell-time.ts";

const columns: readonly ListColumn<AuditRecord>[] = [
  ["NO", ({ number }) => String(number)],
  ["TIME", ({ time }) => stamp(time)],
  ["ACTOR", ({ actor, evidence }) => nameOf(actor, evidence["as"]), { least: 6 }],
  ["ACTION", ({ action }) => (action === "terminate" ? styled("red", action) : action), { least: 10 }],
  ["ABOUT", ({ subject }) => subject ?? none, { least: 8 }],
  ["REASON", ({ reason }) => reason || none, { least: 10 }],
];

/** `rouse audit list`: who did what to whom, and why. */
export function showLines(lines: readonly AuditRecord[], agentId: string | undefined, width: number): Line[] {
  if (lines.length === 0) return [[agentId === undefined ? "Nothing has been done yet." : `Nothing about ${agentId}.`]];
  return drawList(lines, columns, width);
}

/** Who authenticated, and the name they gave. */
const nameOf = (actor: string, as: unknown): string => (typeof as === "string" ? `${actor} (as ${as})` : actor);

/** `rouse audit verify`: sound or not, every problem, and what no verdict could show. */
export function showVerdict(verdict: AuditVerdict, publicKey: string, width: number): Line[] {
  const { sound, problems, cannotShow } = verdict;
  const headline = sound
    ? styled("green", soundUpTo(verdict))
    : styled("red", `The audit trail is not sound: ${count(problems.length, "problem")}.`);
  return [
    ...wrapLine([headline], width, 2),
    ...problems.flatMap(({ number, problem }) =>
      wrapLine([number === null ? "  " : `  line ${number}: `, problem], width, 4),
    ),
    ...drawFacts(factsOf(verdict, publicKey), width, 2),
    ["This cannot show everything:"],
    ...cannotShow.flatMap((limit) => wrapLine(["  - ", limit], width, 4)),
  ];
}

function soundUpTo({ sealed }: AuditVerdict): string {
  if (sealed === null) return "The audit trail is sound as far as it goes: chained, not sealed.";
  return `The audit trail is sound up to line ${sealed.number}, sealed ${stamp(sealed.time)}.`;
}

function factsOf({ entries, signatures, beginsAt, anchors }: AuditVerdict, publicKey: string): (Fact | null)[] {
  const begins = beginsAt === null ? "" : `, from line ${beginsAt} on: older ones were removed with the history`;
  return [
    ["lines", [`${entries}${begins}`]],
    ["signatures", [`${signatures} good`]],
    anchors.length === 0 ? null : ["anchors", ...anchors.map((one) => [describeAnchor(one)])],
    ["key", [fingerprintOf(publicKey)]],
  ];
}

function describeAnchor({ anchor, says, newest, problem }: AnchorVerdict): string {
  if (says === "silent") return `${anchor}: ${problem}`;
  const upTo = newest === null ? "" : ` up to line ${newest.number}, sealed ${stamp(newest.time)}`;
  return `${anchor} ${says}${says === "agrees" ? upTo : ""}`;
}

/** The fingerprint of a key as ssh prints it: short enough to read out. */
export function fingerprintOf(publicKey: string): string {
  try {
    const der = createPublicKey(publicKey).export({ type: "spki", format: "der" });
    return `SHA256:${createHash("sha256").update(der).digest("base64").replace(/=+$/, "")}`;
  } catch {
    return "cannot be read";
  }
}
