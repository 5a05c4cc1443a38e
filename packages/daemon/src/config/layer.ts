import type { Locate } from "./config-problem.ts";

/** Settings from one source. `locate` takes a path inside the settings and says where the user wrote it. */
export interface Layer {
  readonly values: unknown;
  readonly locate: Locate;
}
