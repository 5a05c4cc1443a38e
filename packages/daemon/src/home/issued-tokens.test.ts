import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { days } from "@rouse/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findIssuedToken, hasExpired, issueToken, listTokens, revokeToken, type WantedToken } from "./issued-tokens.ts";

const now = Date.parse("2026-02-05T10:00:00Z");
let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rouse-tokens-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const issue = (name: string, more: Partial<WantedToken> = {}): string =>
  issueToken(home, { name, role: "viewer", agentId: null, expiresAt: null, ...more }, now);

describe("an issued token", () => {
  it("is found by what it is, with its role and name, whatever stands in its name", () => {
    for (const name of ["wall", "a.b", "x:1@host+2", "a".repeat(128)]) {
      const token = issue(name, { role: "orchestrator" });
      expect(findIssuedToken(home, token)).toMatchObject({ name, role: "orchestrator", agentId: null });
    }
    expect(listTokens(home)).toHaveLength(4);
  });

  it("is not found with any letter changed, under another's name, or after it was revoked", () => {
    const [token, other] = [issue("wall"), issue("other")];
    for (let at = 0; at < token.length; at++) {
      const letter = token[at] === "A" ? "B" : "A";
      expect(findIssuedToken(home, token.slice(0, at) + letter + token.slice(at + 1))).toBeNull();
    }
    expect(findIssuedToken(home, token.replace("wall", "other"))).toBeNull();
    for (const wrong of [
      "",
      "rouse-token.",
      "rouse-token.wall",
      "rouse-token.wall.",
      "rouse-token.../../token.x",
      `${token} `,
    ])
      expect(findIssuedToken(home, wrong), wrong).toBeNull();
    expect(revokeToken(home, "wall")).toBe(true);
    expect(findIssuedToken(home, token)).toBeNull();
    expect(findIssuedToken(home, other)).not.toBeNull();
    expect(["wall", "../token", ""].map((name) => revokeToken(home, name))).toEqual([false, false, false]);
  });

  it("has expired from the moment it names", () => {
    const token = findIssuedToken(home, issue("short", { expiresAt: now + days(1) }));
    expect([now, now + days(1) - 1, now + days(1)].map((at) => token && hasExpired(token, at))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it("has a name that nobody else gets before it is revoked", () => {
    const token = issue("wall");
    expect(() => issue("wall", { role: "owner" })).toThrow(
      "`rouse token revoke wall` ends it, or choose another --name",
    );
    expect(findIssuedToken(home, token)).toMatchObject({ role: "viewer" });
  });

  it("is none when its file was damaged, moved to another name, or says an agent's role without an agent", () => {
    const token = issue("wall");
    const file = join(home, "tokens", "wall.json");
    const kept = readFileSync(file, "utf8");
    for (const text of ["", "{", "null", kept.replace('"wall"', '"hall"'), kept.replace('"viewer"', '"agent"')]) {
      writeFileSync(file, text);
      expect(findIssuedToken(home, token), text).toBeNull();
    }
    writeFileSync(file, kept);
    expect(findIssuedToken(home, token)).not.toBeNull();
  });
});
