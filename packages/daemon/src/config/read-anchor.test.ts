import { describe, expect, it } from "vitest";
import { describeProblem } from "./config-problem.ts";
import { nameAnchor, readAnchor } from "./read-anchor.ts";
import { readConfig } from "./read-config.ts";

const read = (text: string) => readConfig({ file: { name: "c", text } });

function problemsIn(...anchors: string[]): string[] {
  const reading = read(`health_monitoring:\n  audit:\n    anchor: ${JSON.stringify(anchors)}\n`);
  return reading.ok ? [] : reading.problems.map(describeProblem);
}

describe("an anchor", () => {
  it.each([
    ["file:/var/log/rouse seals.jsonl", { kind: "file", path: "/var/log/rouse seals.jsonl" }],
    ["file:seals.jsonl", { kind: "file", path: "seals.jsonl" }],
    ["git:/srv/seals.git", { kind: "git", folder: "/srv/seals.git", ref: "refs/rouse-audit/seals" }],
    ["git:../project#refs/rouse/audit", { kind: "git", folder: "../project", ref: "refs/rouse/audit" }],
    ["webhook:https://seals.example.com/x", { kind: "webhook", to: new URL("https://seals.example.com/x") }],
  ])("may be %s", (text, place) => {
    expect(readAnchor(text)).toEqual(place);
    expect(problemsIn(text)).toEqual([]);
  });

  it.each([
    "git:/srv/p#refs/heads/main",
    "git:/srv/p#main",
    "git:/srv/p#refs/rouse/../heads/main",
    "git:/srv/p#refs/rouse/-x/..",
    "git:/srv/p#refs/rouse/x.lock",
    "git:/srv/p#refs/rouse/",
    "git:/srv/p#",
    "git:/srv/p#refs/rouse/x y",
    "git:/srv/p#refs/rouse/x\ncreate refs/heads/y",
  ])("in git is on a ref of ours, not %j", (text) => {
    expect(readAnchor(text)).toEqual({ problem: expect.stringContaining("a ref that is not ours") });
  });

  it("that is none is told of with its place, all of them at once, and without the path of an address", () => {
    expect(problemsIn("file:", "ftp://x", "webhook:http://example.com/s3cret", "git:#refs/rouse/audit")).toEqual([
      expect.stringMatching(/^c:3:14 health_monitoring\.audit\.anchor\.0: is no anchor; expected file:PATH/),
      expect.stringMatching(/^c:3:22 .*: is no anchor; expected file:PATH/),
      expect.stringMatching(/^c:3:32 .*: leads to example.com in the clear; use an https:\/\/ address/),
      expect.stringMatching(/^c:3:\d+ .*: names no repository/),
    ]);
  });

  it("of one agent has no effect, and only that is said", () => {
    const reading = read("agents: { a: { audit: { anchor: ['nonsense'] } } }");
    expect(reading.ok && reading.config.notices.map((notice) => notice.path)).toEqual(["agents.a.audit"]);
  });

  it("is a file beside the database until somebody says otherwise", () => {
    const reading = read("");
    expect(reading.ok && reading.config.settings.audit.anchor).toEqual(["file:audit-seals.jsonl"]);
    const none = read("health_monitoring: { audit: { anchor: [] } }");
    expect(none.ok && none.config.settings.audit.anchor).toEqual([]);
  });

  it("is named without what may be a secret", () => {
    expect(nameAnchor("webhook:https://ann:pass@seals.example.com/s3cret?k=s3cret")).toBe(
      "webhook:https://seals.example.com",
    );
    expect(nameAnchor("file:/a")).toBe("file:/a");
  });
});
