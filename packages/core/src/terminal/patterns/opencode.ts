import type { ShippedFamily } from "./shipped.ts";

export const opencode: ShippedFamily = { hint: /(?!)/, patterns: [] };
