import type { Eye, Sight } from "@rouse/contract";
import type { Reading } from "./reading.ts";

/** What several eyes have told of one life. Plain, bounded data. */
interface JoinedEyes {
  /** Ids of calls that were told to have started, and those told to have ended, newest last. */
  readonly started: readonly string[];
  readonly ended: readonly string[];
  /** Calls that are not over, and the eye that told of them first. */
  readonly open: readonly { readonly id: string; readonly eye: Eye }[];
  /** How many of a kind each eye has told, and how many were passed on. */
  readonly told: Readonly<Partial<Record<Counted, Readonly<Partial<Record<Eye, number>>>>>>;
  readonly passed: Readonly<Partial<Record<Counted, number>>>;
  /** The best eye that has told each kind of state. */
  readonly owners: Readonly<Partial<Record<Owned, Eye>>>;
  readonly tokens: number;
}

/** Each eye tells all of these in the same order, so the n-th is the same for every eye. */
const countedKinds = ["said", "turn-ended", "rate-limited", "retries", "error", "compacts"] as const;
/** These tell the present state. A slower eye would tell an earlier one. */
const ownedKinds = ["model-asked", "session"] as const;

type Counted = (typeof countedKinds)[number];
type Owned = (typeof ownedKinds)[number];

export const startJoining = (): JoinedEyes => ({
  started: [],
  ended: [],
  open: [],
  told: {},
  passed: {},
  owners: {},
  tokens: 0,
});

/** A session file that is found late tells every call since the start; older ones than this do not matter. */
const mostCalls = 4000;
const mostOpen = 64;

/**
 * The news in what one eye saw. A step that several eyes see is one step: calls are known by their ids, the n-th
 * message of one eye is the n-th of every other, and of the state only the best eye counts.
 */
export function joinEyes(before: JoinedEyes, eye: Eye, sights: readonly Sight[]): Reading<JoinedEyes> {
  let state = before;
  const news = sights.filter((sight) => {
    const after = take(state, eye, sight);
    if (after === null) return false;
    state = after.state;
    return after.isNew;
  });
  return { state, sights: news };
}

interface Taken {
  readonly state: JoinedEyes;
  readonly isNew: boolean;
}

/** `null`: nothing new, and nothing to remember. */
function take(state: JoinedEyes, eye: Eye, sight: Sight): Taken | null {
  switch (sight.kind) {
    case "tool-started":
      return state.started.includes(sight.id) ? null : isNew(start(state, sight.id, eye));
    case "tool-ended":
      return state.ended.includes(sight.id) ? null : isNew(end(state, sight.id));
    case "tool-goes-on":
      return state.ended.includes(sight.id) ? null : isNew(state);
    case "tokens":
      return sight.total > state.tokens ? isNew({ ...state, tokens: sight.total }) : null;
    case "model-asked":
      return askModel(state, eye);
    case "session":
      return own(state, eye, sight.kind);
    case "rate-limited":
    case "retries":
    case "error":
      // The first eye to tell of a limit need not know when it ends.
      if (eye !== "screen" && sight.kind === "rate-limited" && sight.resetsInMs !== null)
        return isNew(count(state, eye, sight.kind).state);
      // A screen shows the words of tools, too. Of a limit that the program itself told they are an echo.
      if (eye !== "screen") return count(state, eye, sight.kind);
      // Only the screen tells that the program goes on by itself.
      if (sight.kind === "error" || (sight.kind === "rate-limited" && sight.continues === true)) return isNew(state);
      return state.told[sight.kind] === undefined ? isNew(state) : null;
    case "turn-ended": {
      const counted = count({ ...state, open: [] }, eye, sight.kind);
      // Only hooks know for certain what wakes the agent.
      return eye === "hooks" && sight.wokenBy !== undefined ? isNew(counted.state) : counted;
    }
    case "said":
    case "compacts":
      return count(state, eye, sight.kind);
    case "output":
    case "asks":
    case "asks-no-more":
    case "completed":
    case "context-limit":
    case "file-touched":
    case "nudge-read":
      return isNew(state);
  }
}

const isNew = (state: JoinedEyes): Taken => ({ state, isNew: true });

const remember = (ids: readonly string[], id: string): readonly string[] => [...ids.slice(1 - mostCalls), id];

const start = (state: JoinedEyes, id: string, eye: Eye): JoinedEyes => ({
  ...state,
  started: remember(state.started, id),
  open: state.ended.includes(id) ? state.open : [...state.open, { id, eye }].slice(-mostOpen),
});

const end = (state: JoinedEyes, id: string): JoinedEyes => ({
  ...state,
  ended: remember(state.ended, id),
  open: state.open.filter((call) => call.id !== id),
});

/**
 * Within a turn either a tool runs or the model is at work. An eye that does not see running calls takes them for the
 * model. An eye that told of a call and now tells of the model means that the call is over.
 */
function askModel(before: JoinedEyes, eye: Eye): Taken | null {
  const state = { ...before, open: before.open.filter((call) => call.eye !== eye) };
  return state.open.length > 0 ? { state, isNew: false } : (own(state, eye, "model-asked") ?? { state, isNew: false });
}

function count(state: JoinedEyes, eye: Eye, kind: Counted): Taken {
  const mine = (state.told[kind]?.[eye] ?? 0) + 1;
  const passed = state.passed[kind] ?? 0;
  const told = { ...state.told, [kind]: { ...state.told[kind], [eye]: mine } };
  if (mine <= passed) return { state: { ...state, told }, isNew: false };
  return isNew({ ...state, told, passed: { ...state.passed, [kind]: mine } });
}

const bestFirst: readonly Eye[] = ["stream", "hooks", "session-file", "screen"];

function own(state: JoinedEyes, eye: Eye, kind: Owned): Taken | null {
  const owner = state.owners[kind];
  if (owner !== undefined && bestFirst.indexOf(owner) < bestFirst.indexOf(eye)) return null;
  return isNew({ ...state, owners: { ...state.owners, [kind]: eye } });
}
