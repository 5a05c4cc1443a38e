import type { AuditVerdict } from "@rouse/contract";
import type { AnchorReading } from "./compare-anchors.ts";

type Found = Omit<AuditVerdict, "cannotShow">;

const vouched = "the Rouse that gave out the trail vouches for that part, the database alone would not";
const open = "whoever can write to the database could have changed or removed that part";

/** What nobody can read out of this trail, so that nobody believes it: the strongest claim is the one that names its limits. */
export function sayWhatCannotBeShown(
  found: Found,
  readings: readonly AnchorReading[],
  isTold: boolean,
): AuditVerdict["cannotShow"] {
  return [
    ...saySeals(found, isTold),
    ...sayEnd(found, readings, isTold),
    "Whoever has the signing key can write any trail that looks sound, but cannot change what an anchor already holds.",
  ];
}

function saySeals({ sealed, takenOver, unsealed, foundOpen }: Found, isTold: boolean): string[] {
  if (sealed === null)
    return [
      "Nothing of it is sealed. Terminations are signed; whoever can write to it could have removed them and written the rest anew.",
    ];
  return [
    ...(takenOver === null
      ? []
      : [
          `${nameStretch(takenOver)} written before trails were sealed: chained, and sealed only with line ${takenOver.to + 1}. A change made before that would not be seen.`,
        ]),
    ...foundOpen.map(
      ({ from, to }) =>
        `${from === to ? `Line ${from} was` : `Lines ${from}–${to} were`} not sealed when Rouse died: taken over as found at the next start. A change made before that would not be seen.`,
    ),
    ...(unsealed === null ? [] : [`${nameStretch(unsealed)} chained but not sealed yet: ${isTold ? vouched : open}.`]),
  ];
}

function sayEnd({ anchors }: Found, readings: readonly AnchorReading[], isTold: boolean): string[] {
  const agreeing = anchors.filter(({ says }) => says === "agrees");
  const silent = anchors.flatMap(({ says, anchor, problem }) =>
    says === "silent" ? [`${anchor} could not be compared: ${problem}.`] : [],
  );
  const cut = isTold
    ? "lines that were cut off at the end before it was given out, while no Rouse was running, would not be missed"
    : "lines that were cut off at the end would not be missed, back to any earlier one";
  if (anchors.some(({ says }) => says === "contradicts")) return silent;
  if (agreeing.length === 0) return [...silent, `No anchor outside the database was compared, so ${cut}.`];
  const newest = Math.max(...agreeing.map((one) => one.newest?.number ?? 0));
  const isBeside = (name: string): boolean => readings.some(({ anchor, isBeside }) => anchor === name && isBeside);
  return [
    ...silent,
    ...(isTold ? [] : [`Lines after ${newest}, the newest that an anchor holds, could have been cut off.`]),
    ...(agreeing.every(({ anchor }) => isBeside(anchor))
      ? ["The anchor lies beside the database: whoever can write to that folder could have cut both."]
      : []),
  ];
}

const nameStretch = ({ from, to }: { from: number; to: number }): string =>
  from === to ? `Line ${from} is` : `Lines ${from} to ${to} are`;
