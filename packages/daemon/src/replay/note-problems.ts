/** What can be wrong with a recording. Any fault makes a replay end with exit code 2; notes do not. */
const faults = {
  "missing-file": "missing files",
  unreadable: "unreadable files",
  "too-long": "lines that are too long",
  "not-json": "lines that are not JSON",
  "not-an-object": "lines that are not objects",
  "no-trace": "lines without a trace",
  "no-kind": "lines without a kind",
  "unknown-kind": "lines of an unknown kind",
  "wrong-type": "fields of a wrong type",
  "time-backwards": "times that run backwards",
  "time-leap": "times far ahead",
  "bad-label": "labels that cannot be read",
} as const;

const notes = {
  "empty-file": "empty files",
  "named-twice": "files named twice",
  "label-line": "lines that are labels",
  "no-results": "runs without results",
} as const;

export type ProblemKind = keyof typeof faults | keyof typeof notes;

interface Problem {
  readonly kind: ProblemKind;
  readonly file: string;
  readonly line: number | null;
  readonly message: string;
}

/** So many are told one by one: a file that is no recording has as many problems as lines. */
const mostFaults = 20;
const mostNotes = 3;

export interface Problems {
  note(problem: Problem): void;
  /** Lines, fields or files that could not be used. */
  faults(): number;
  /** Each in a sentence, then how many more of what. */
  describe(): readonly string[];
}

export function collectProblems(): Problems {
  const shown = { faults: [] as Problem[], notes: [] as Problem[] };
  const more = new Map<ProblemKind, number>();
  let count = 0;
  return {
    note(problem) {
      const grave = isFault(problem.kind);
      if (grave) count += 1;
      const [list, most] = grave ? [shown.faults, mostFaults] : [shown.notes, mostNotes];
      if (list.length < most) list.push(problem);
      else more.set(problem.kind, (more.get(problem.kind) ?? 0) + 1);
    },
    faults: () => count,
    describe: () => [
      ...shown.faults.map(describe),
      ...tellMore(more, true),
      ...shown.notes.map(describe),
      ...tellMore(more, false),
    ],
  };
}

const isFault = (kind: ProblemKind): kind is keyof typeof faults => Object.hasOwn(faults, kind);

const describe = ({ file, line, message }: Problem): string => `${file}${line === null ? "" : `:${line}`}: ${message}`;

function tellMore(more: ReadonlyMap<ProblemKind, number>, grave: boolean): string[] {
  const some = [...more].filter(([kind]) => isFault(kind) === grave);
  if (some.length === 0) return [];
  const words: Readonly<Record<ProblemKind, string>> = { ...faults, ...notes };
  return [
    `and more that are not shown: ${some.map(([kind, n]) => `${n.toLocaleString("en")} ${words[kind]}`).join(", ")}`,
  ];
}
