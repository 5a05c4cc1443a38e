import type { EpochMs } from "@rouse/contract";
import type { IssuedToken } from "../../home/issued-tokens.ts";
import { type Column, drawTable } from "./draw-table.ts";
import { type Line, type Span, styled } from "./styled-text.ts";
import { inTime, stamp } from "./tell-time.ts";

const columns: readonly Column[] = [
  { title: "NAME", least: 8 },
  { title: "ROLE" },
  { title: "AGENT", least: 6 },
  { title: "CREATED" },
  { title: "EXPIRES" },
];

export function showTokens(tokens: readonly Omit<IssuedToken, "hash">[], now: EpochMs, width: number): Line[] {
  if (tokens.length === 0) return [["No tokens were issued; `rouse token create` makes one."]];
  const rows = tokens.map(({ name, role, agentId, createdAt, expiresAt }) => [
    name,
    role,
    agentId ?? styled("dim", "–"),
    stamp(createdAt),
    whenOver(expiresAt, now),
  ]);
  return drawTable(columns, rows, width);
}

function whenOver(expiresAt: string | null, now: EpochMs): string | Span {
  if (expiresAt === null) return "never";
  return Date.parse(expiresAt) <= now ? styled("red", "expired") : inTime(expiresAt, now);
}
