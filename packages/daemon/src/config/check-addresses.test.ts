import { describe, expect, it } from "vitest";
import { describeProblem } from "./config-problem.ts";
import { readConfig } from "./read-config.ts";

const withAddress = (address: string) =>
  `health_monitoring:\n  escalation:\n    webhook_url: ${JSON.stringify(address)}\n`;

const read = (text: string) => readConfig({ file: { name: "c", text } });

function problemsIn(text: string): string[] {
  const reading = read(text);
  return reading.ok ? [] : reading.problems.map(describeProblem);
}

describe("the address of the orchestrator", () => {
  it.each([
    "https://orchestrator.example.com/rouse",
    "http://127.0.0.1:8080/rouse",
    "http://127.1/rouse",
    "http://localhost:8080",
    "http://LOCALHOST",
    "http://[::1]:8080/",
    "https://[2001:db8::a9fe:a9fe]/",
    "https://[64:ff9b::808:808]/",
  ])("may be %s", (address) => {
    expect(problemsIn(withAddress(address))).toEqual([]);
  });

  it("that leads elsewhere in the clear is refused before anything is sent, with its place and what to use instead, and without its path", () => {
    expect(problemsIn(withAddress("http://ann:pass@orchestrator.example.com:8080/hooks/s3cret?key=s3cret"))).toEqual([
      "c:3:18 health_monitoring.escalation.webhook_url: leads to orchestrator.example.com:8080 in the clear; use an https:// address, one on 127.0.0.1 behind a tunnel, or, for a private network, set escalation.allow_private_webhook: true",
    ]);
  });

  it.each([
    "http://127.0.0.1.example.com/",
    "http://127.example/",
    "http://localhost.example.com/",
    "http://127.0.0.1@example.com/",
    "http://10.0.0.1/",
    "http://[::ffff:10.0.0.1]/",
  ])("that only looks like this machine is refused: %s", (address) => {
    expect(problemsIn(withAddress(address))).toEqual([expect.stringContaining(" in the clear; ")]);
  });

  it.each([
    "https://169.254.169.254/latest",
    "https://0xa9fea9fe/",
    "http://169.254.1.1/",
    "https://[fe80::1]/",
    "https://[::ffff:169.254.1.1]/",
    "https://[::ffff:a9fe:a9fe]/",
    "https://[::a9fe:a9fe]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[64:ff9b::169.254.169.254]/",
    "https://[2002:a9fe:a9fe::]/",
    "https://[2002:a9fe:a9fe::1]/",
    "http://0.0.0.0/",
    "https://0/",
    "http://[::]/",
    "https://224.0.0.1/",
    "https://[ff02::1]/",
    "https://255.255.255.255/",
  ])("that is no one host's is refused, also where private networks are allowed: %s", (address) => {
    for (const more of ["", "    allow_private_webhook: true\n"])
      expect(problemsIn(withAddress(address) + more)).toEqual([expect.stringContaining("not one host's address")]);
  });

  it.each([
    "http://10.0.0.1/",
    "http://192.168.1.7:8080/",
    "http://172.16.0.1/",
    "http://[fd00::1]/",
    "http://orchestrator.lan/",
  ])("in a private network needs https, or the owner's word that it may be in the clear: %s", (address) => {
    expect(problemsIn(withAddress(address))).toEqual([expect.stringContaining(" in the clear; ")]);
    expect(problemsIn(withAddress(address.replace("http:", "https:")))).toEqual([]);
    expect(problemsIn(`${withAddress(address)}    allow_private_webhook: true\n`)).toEqual([]);
    expect(problemsIn(`${withAddress("http://8.8.8.8/")}    allow_private_webhook: true\n`)).toHaveLength(1);
  });

  it.each([
    ["of another kind", "ftp://127.0.0.1/"],
    ["without a scheme", "127.0.0.1:8080"],
    ["only a path", "/rouse"],
    ["empty", ""],
    ["too long", `https://example.com/${"x".repeat(2000)}`],
  ])("that is %s is told of once, with what is expected", (_, address) => {
    expect(problemsIn(withAddress(address))).toEqual([
      expect.stringMatching(/^c:3:18 .*, expected an http or https address, text of at most 2000 characters$/),
    ]);
  });

  it("is told of together with mistakes elsewhere", () => {
    const problems = problemsIn(`${withAddress("http://example.com")}nonsense: 1\n`);
    expect(problems).toEqual([expect.stringContaining("c:3:18 "), expect.stringContaining("c:4:1 nonsense")]);
  });

  it("of one agent has no effect, and only that is said", () => {
    const reading = read("agents: { a: { escalation: { webhook_url: 'http://example.com' } } }");
    expect(reading.ok && reading.config.notices.map((notice) => notice.path)).toEqual([
      "agents.a.escalation.webhook_url",
    ]);
  });
});
