import { canonicalJson, Fault, stateLimits } from "@rouse/contract";

/** The state as JSON at this moment, because its owner may change it; or a clear refusal before anything is sent. */
export function writeState(step: number, state: unknown): string {
  if (!Number.isInteger(step) || step < 0 || step > 1_000_000_000)
    throw new Fault("bad-request", `a step is a whole number from 0 to 1000000000, not ${step}`);
  const text = asText(state);
  const size = new TextEncoder().encode(text).length;
  if (size > stateLimits.bytes)
    throw new Fault(
      "body-too-large",
      `a state has at most ${stateLimits.bytes / 1024 / 1024} MiB, and this one ${size} bytes; keep large data in files, and in the state what refers to it`,
    );
  return text;
}

function asText(state: unknown): string {
  try {
    return canonicalJson(state === undefined ? null : state, stateLimits);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Fault("bad-request", `the state cannot be saved: ${why}`, { cause: error });
  }
}
