import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AgentId, type EpochMs, Fault, Id, longestPromiseSeconds, toIso } from "@rouse/contract";
import { writeBeside } from "@rouse/holder";
import { z } from "zod";
import { readIfThere } from "./secret-files.ts";

export const tokenRoles = ["owner", "orchestrator", "viewer", "agent", "ping"] as const;
export type TokenRole = (typeof tokenRoles)[number];

/** Roles whose tokens are valid for one agent only. */
export const isForAgent = (role: TokenRole): role is "agent" | "ping" => role === "agent" || role === "ping";

const PingRhythm = z.strictObject({
  seconds: z.number().min(1).max(longestPromiseSeconds),
  graceSeconds: z.number().min(0).max(longestPromiseSeconds),
});
export type PingRhythm = Readonly<z.infer<typeof PingRhythm>>;

/** What is kept of a token: whose it is, and a hash. The token itself is shown once. */
const IssuedToken = z.strictObject({
  name: Id,
  role: z.enum(tokenRoles),
  /** Set for roles agent and ping only: whom the token speaks for. */
  agentId: AgentId.nullable(),
  /** Set for role ping only, when its owner said so: how often its agent is heard, and how late that may be. */
  every: PingRhythm.optional(),
  createdAt: z.string(),
  expiresAt: z.string().nullable(),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});
export type IssuedToken = Readonly<z.infer<typeof IssuedToken>>;

export interface WantedToken {
  readonly name: string;
  readonly role: TokenRole;
  readonly agentId: string | null;
  readonly every?: PingRhythm | undefined;
  readonly expiresAt: EpochMs | null;
}

export const issuedTokenPrefix = "rouse-token.";
const longestToken = 256;

/** One file per token: issuing and revoking never conflict, and a running daemon sees both at once. */
const folderOf = (home: string): string => join(home, "tokens");
const fileOf = (home: string, name: string): string => join(folderOf(home), `${name}.json`);

/** Makes a token and returns it; it cannot be shown again. A name can be used again after it is revoked. */
export function issueToken(home: string, { name, role, agentId, every, expiresAt }: WantedToken, now: EpochMs): string {
  const token = `${issuedTokenPrefix}${name}.${randomBytes(32).toString("base64url")}`;
  const times = { createdAt: toIso(now), expiresAt: expiresAt === null ? null : toIso(expiresAt) };
  const issued = IssuedToken.parse({
    name,
    role,
    agentId,
    ...(every === undefined ? {} : { every }),
    ...times,
    hash: hashOf(token),
  });
  mkdirSync(folderOf(home), { recursive: true, mode: 0o700 });
  const file = fileOf(home, name);
  const temporary = writeBeside(file, `${JSON.stringify(issued, null, 2)}\n`);
  try {
    linkSync(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new Fault(
      "name-taken",
      `there is a token ${name} already; \`rouse token revoke ${name}\` ends it, or choose another --name`,
    );
  } finally {
    rmSync(temporary, { force: true });
  }
  return token;
}

/** Returns whether there was such a token. */
export function revokeToken(home: string, name: string): boolean {
  const isThere = Id.safeParse(name).success && readIfThere(fileOf(home, name)) !== null;
  if (isThere) rmSync(fileOf(home, name), { force: true });
  return isThere;
}

/** Expired tokens stay until they are revoked, so that the list says why they stopped working. */
export function listTokens(home: string): IssuedToken[] {
  return readNames(home).flatMap((name) => readFile(home, name) ?? []);
}

/** The issued token that was given; `null` when it is unknown, revoked, or right only in its name. */
export function findIssuedToken(home: string, given: string): IssuedToken | null {
  if (given.length > longestToken || !given.startsWith(issuedTokenPrefix)) return null;
  const name = given.slice(issuedTokenPrefix.length, given.lastIndexOf("."));
  if (!Id.safeParse(name).success) return null;
  const issued = readFile(home, name);
  return issued !== null && timingSafeEqual(Buffer.from(hashOf(given)), Buffer.from(issued.hash)) ? issued : null;
}

export const hasExpired = ({ expiresAt }: IssuedToken, now: EpochMs): boolean =>
  expiresAt !== null && Date.parse(expiresAt) <= now;

/** 256 random bits need no salt and no slow hash. */
const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex");

/** A damaged file is no token. */
function readFile(home: string, name: string): IssuedToken | null {
  try {
    const issued = IssuedToken.safeParse(JSON.parse(readIfThere(fileOf(home, name)) ?? "null")).data ?? null;
    return issued?.name === name && isForAgent(issued.role) === (issued.agentId !== null) ? issued : null;
  } catch {
    return null;
  }
}

function readNames(home: string): string[] {
  try {
    const files = readdirSync(folderOf(home)).sort();
    return files.flatMap((file) => (file.endsWith(".json") ? [file.slice(0, -".json".length)] : []));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
