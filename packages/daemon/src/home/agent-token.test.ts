import { createHmac, hkdfSync } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AgentTokenClaims, findOverreach, mintAgentToken, readAgentToken } from "./agent-token.ts";

const master = "a-master-token-of-forty-three-characters-xx";
const claims: AgentTokenClaims = { agentId: "worker-1", taskId: "fix-42", incarnation: 3 };

const letters = [..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"];
const id = fc
  .tuple(
    fc.constantFrom(...letters),
    fc.string({ unit: fc.constantFrom(...letters, ..."._:@+-"), minLength: 0, maxLength: 127 }),
  )
  .map(([first, rest]) => first + rest);
const someClaims: fc.Arbitrary<AgentTokenClaims> = fc.record({
  agentId: id.filter((name) => !name.startsWith("rouse.")),
  taskId: fc.option(id),
  incarnation: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
});

describe("an agent's token", () => {
  it("says whom it speaks for, in at most 1 KiB that fits a header and an environment variable", () => {
    fc.assert(
      fc.property(someClaims, (given) => {
        const token = mintAgentToken(master, given);
        expect(token).toMatch(/^rouse-agent\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/);
        expect(token.length).toBeLessThanOrEqual(1024);
        expect(readAgentToken(master, token)).toEqual(given);
      }),
    );
  });

  it("is the same whenever and wherever it is made, and whatever the order of what it says", () => {
    const { agentId, taskId, incarnation } = claims;
    expect(mintAgentToken(master, { incarnation, taskId, agentId })).toBe(mintAgentToken(master, claims));
  });

  it("is refused with any byte changed, added or taken away", () => {
    const token = mintAgentToken(master, claims);
    const put = (at: number, text: string, instead: number) => token.slice(0, at) + text + token.slice(at + instead);
    const changed = [...token].flatMap((byte, at) => {
      const next = String.fromCharCode(byte.charCodeAt(0) + 1);
      return [put(at, "", 1), put(at, next, 1), put(at, byte === "." ? "A" : ".", 1), put(at, next, 0)];
    });
    // The last letter of the signature stands for four bits only.
    for (const last of letters) if (!token.endsWith(last)) changed.push(put(token.length - 1, last, 1));
    for (const more of ["=", ".", "A", " ", "\n", ".x"]) changed.push(token + more);
    expect(changed.filter((other) => readAgentToken(master, other) !== null)).toEqual([]);
  });

  it("is refused when what it says was changed under the signature of another", () => {
    fc.assert(
      fc.property(someClaims, someClaims, (own, wanted) => {
        fc.pre(JSON.stringify(own) !== JSON.stringify(wanted));
        const [, , signature] = splitToken(mintAgentToken(master, own));
        const [prefix, part] = splitToken(mintAgentToken(master, wanted));
        expect(readAgentToken(master, `${prefix}.${part}.${signature}`)).toBeNull();
      }),
    );
  });

  it("is refused by a Rouse with another master token", () => {
    expect(readAgentToken(`${master}y`, mintAgentToken(master, claims))).toBeNull();
  });

  it("is not signed with the master token itself", () => {
    const [, part, signature] = splitToken(mintAgentToken(master, claims));
    expect(signature).not.toBe(createHmac("sha256", master).update(part).digest("base64url"));
  });

  it.each([
    ["nothing", ""],
    ["the prefix alone", "rouse-agent."],
    ["too few parts", "rouse-agent.e30"],
    ["empty parts", "rouse-agent.."],
    ["the master token", master],
    ["a megabyte", `rouse-agent.${"A".repeat(1 << 20)}.x`],
  ])("is not %s", (_, token) => {
    expect(readAgentToken(master, token)).toBeNull();
  });

  it("is refused although it is signed right when it says nothing that can be understood, or too much", () => {
    const said = '{"agentId":"worker-1","incarnation":3,"taskId":null}';
    expect(readAgentToken(master, signAnything(said))).toEqual({ ...claims, taskId: null });
    const foreign = [
      '{"agentId":"rouse.canary","incarnation":3,"taskId":null}',
      said.replace("3", "-3"),
      "null",
      "{",
      "",
    ];
    for (const text of [...foreign, said.padEnd(1024)]) expect(readAgentToken(master, signAnything(text))).toBeNull();
  });

  it.each([
    ["a name that is none", { ...claims, agentId: "../etc/passwd" }],
    ["a name of the monitor's own", { ...claims, agentId: "rouse.canary" }],
    ["a task that is none", { ...claims, taskId: "a b" }],
    ["life zero", { ...claims, incarnation: 0 }],
    ["half a life", { ...claims, incarnation: 1.5 }],
    ["more than there is to say", { ...claims, admin: true }],
  ])("is never made for %s", (_, wrong) => {
    expect(() => mintAgentToken(master, wrong)).toThrow();
  });
});

describe("what a token is good for", () => {
  const holdsNothing = () => false;

  it("is its own agent, its own task or none, its own life or none", () => {
    const { agentId, taskId, incarnation } = claims;
    for (const said of [{ agentId }, { agentId, taskId }, { agentId, taskId: null, incarnation }]) {
      expect(findOverreach(claims, said, holdsNothing)).toBeNull();
    }
    expect(findOverreach({ ...claims, taskId: null }, { agentId, taskId: null }, holdsNothing)).toBeNull();
  });

  it.each([
    ["another agent", { agentId: "worker-2" }, { because: "other-agent", claimed: "worker-2" }],
    ["another task", { agentId: "worker-1", taskId: "t" }, { because: "other-task", claimed: "t" }],
    ["an earlier life", { agentId: "worker-1", incarnation: 2 }, { because: "other-life", claimed: "2" }],
    ["a later life", { agentId: "worker-1", incarnation: 4 }, { because: "other-life", claimed: "4" }],
  ])("is not %s", (_, said, overreach) => {
    expect(findOverreach(claims, said, holdsNothing)).toEqual(overreach);
  });

  it("is no task at all when it was made without one, but for what its agent took from the queue and holds", () => {
    const overreach = { because: "other-task", claimed: "fix-42" };
    const free = { ...claims, taskId: null };
    const said = { agentId: "worker-1", taskId: "fix-42" };
    expect(findOverreach(free, said, holdsNothing)).toEqual(overreach);
    const holds = (agentId: string, taskId: string) => agentId === "worker-1" && taskId === "fix-42";
    expect(findOverreach(free, said, holds)).toBeNull();
    expect(findOverreach(free, { ...said, taskId: "t" }, holds)).toEqual({ because: "other-task", claimed: "t" });
  });
});

function signAnything(text: string): string {
  const part = Buffer.from(text).toString("base64url");
  const key = Buffer.from(hkdfSync("sha256", master, "", "rouse agent token 1", 32));
  return `rouse-agent.${part}.${createHmac("sha256", key).update(part).digest("base64url")}`;
}

function splitToken(token: string): [prefix: string, part: string, signature: string] {
  const [prefix = "", part = "", signature = ""] = token.split(".");
  return [prefix, part, signature];
}
