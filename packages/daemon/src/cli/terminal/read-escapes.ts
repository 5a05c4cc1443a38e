/** What a terminal would do with a sequence, as far as it matters for lines of text. */
export type Escape =
  | { readonly kind: "nothing" }
  /** The cursor goes to the first column, or the line is erased: the next text replaces it. */
  | { readonly kind: "start-over" }
  /** The cursor goes to another row: text there is another line. */
  | { readonly kind: "elsewhere" }
  /** The cursor goes to the right, as some programs write spaces. */
  | { readonly kind: "skip"; readonly columns: number };

/** `null`: the sequence goes on. `"text"`: the sequence broke off, and this code point is text again. */
type EscapeStep = Escape | "text" | null;

/** A longer sequence counts as text: an agent that never ends one must not silence itself for good. */
const longestControl = 256;
const longestString = 64 * 1024;

const [bell, newline, cancel, substitute, esc] = [0x07, 0x0a, 0x18, 0x1a, 0x1b];
const c1 = { dcs: 0x90, sos: 0x98, csi: 0x9b, st: 0x9c, osc: 0x9d, pm: 0x9e, apc: 0x9f };
const nothing: Escape = { kind: "nothing" };

type State = "outside" | "escape" | "intermediate" | "control" | "command" | "string";

export function createEscapeReader() {
  let state: State = "outside";
  let parameters = "";
  let length = 0;

  const enter = (next: State): null => {
    [state, parameters, length] = [next, "", 0];
    return null;
  };
  const leave = <T extends Escape | "text">(result: T): T => {
    state = "outside";
    return result;
  };

  return {
    /** Whether a sequence begins with this code point. */
    begins: (codePoint: number): boolean =>
      codePoint === esc || (codePoint >= c1.dcs && introducedBy(codePoint) !== null),
    isInside: (): boolean => state !== "outside",
    reset: () => void enter("outside"),
    step(codePoint: number): EscapeStep {
      if (codePoint === esc) return enter("escape");
      const introduced = introducedBy(codePoint);
      if (introduced !== null) return enter(introduced);
      if (codePoint === cancel || codePoint === substitute || codePoint === c1.st) return leave(nothing);
      length += 1;
      switch (state) {
        case "outside":
          return "text";
        case "escape":
          return stepEscape(codePoint);
        case "intermediate":
          return stepIntermediate(codePoint);
        case "control":
          return stepControl(codePoint);
        case "command":
          if (codePoint === bell) return leave(nothing);
          return codePoint === newline || length > longestString ? leave("text") : null;
        case "string":
          return length > longestString ? leave("text") : null;
      }
    },
  };

  function stepEscape(codePoint: number): EscapeStep {
    const introduced = introducedBy(codePoint + 0x40);
    if (codePoint < 0x60 && introduced !== null) return enter(introduced);
    if (codePoint >= 0x20 && codePoint <= 0x2f) return enter("intermediate");
    return stepIntermediate(codePoint);
  }

  function stepIntermediate(codePoint: number): EscapeStep {
    if (codePoint >= 0x20 && codePoint <= 0x2f && length <= longestControl) return null;
    return codePoint >= 0x30 && codePoint <= 0x7e ? leave(nothing) : leave("text");
  }

  function stepControl(codePoint: number): EscapeStep {
    if (codePoint < 0x20 || codePoint > 0x7e || length > longestControl) return leave("text");
    if (codePoint >= 0x40) return leave(meaningOf(String.fromCharCode(codePoint), parameters));
    parameters += String.fromCharCode(codePoint);
    return null;
  }
}

function introducedBy(codePoint: number): State | null {
  switch (codePoint) {
    case c1.csi:
      return "control";
    case c1.osc:
      return "command";
    case c1.dcs:
    case c1.sos:
    case c1.pm:
    case c1.apc:
      return "string";
    default:
      return null;
  }
}

function meaningOf(final: string, parameters: string): Escape {
  if (final === "C" && /^\d{0,4}$/.test(parameters)) return { kind: "skip", columns: Math.max(1, Number(parameters)) };
  if (final === "G" && /^[01]?$/.test(parameters)) return { kind: "start-over" };
  if (final === "K" && parameters === "2") return { kind: "start-over" };
  return /^[ABEFHfd]$/.test(final) ? { kind: "elsewhere" } : nothing;
}
