import type { Reservation, TakeRequest } from "@rouse/contract";
import { ask } from "./call-api.ts";
import type { Line } from "./open-line.ts";

export const takeFromRateLimit = (
  line: Line,
  name: string,
  body: TakeRequest,
  signal?: AbortSignal,
): Promise<Reservation> => ask(line, { path: `/api/v1/rate-limits/${encodeURIComponent(name)}/take`, body, signal });
