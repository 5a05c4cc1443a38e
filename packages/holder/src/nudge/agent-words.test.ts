import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Sight } from "@rouse/contract";
import { describe, expect, it, vi } from "vitest";
import { type Client, until } from "../holding.test-support.ts";
import { reportsOf } from "../program/watched-program.test-support.ts";
import type { HolderFile, Spec } from "../protocol/spec.ts";
import { freshWorld } from "../world-of-each.test-support.ts";
import { letGo, type TypedInto, writeTypedInto } from "./typed-into.test-support.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const world = freshWorld();

async function watch(
  command: readonly string[],
  changes: Partial<Spec>,
): Promise<{ held: HolderFile; client: Client }> {
  const held = await world.start(world.spec(command, changes));
  const client = await world.connect(held);
  client.say({ say: "watch", epoch: 1, after: 0 });
  return { held, client };
}

const kindsOf = (client: Client): Sight["kind"][] =>
  reportsOf(client).flatMap(({ sights }) => sights.map((it) => it.kind));
const hearsEnd = (client: Client) => client.hear("report", ({ report }) => report.exit !== null);

const marker = "<promise>COMPLETE</promise>";

/** What a program prints, line by line, and whether it has said by its end that it is done. */
async function saysDone(lines: readonly string[], changes: Partial<Spec> = {}): Promise<boolean> {
  const script = `${lines.map((line) => `printf '%b\\n' '${line}'`).join("; ")}; exit 3`;
  const { client } = await watch(["sh", "-c", script], changes);
  await hearsEnd(client);
  return kindsOf(client).includes("completed");
}

describe("that an agent says it is done", () => {
  it.each(["terminal", "pipes"] as const)("is heard in a %s, coloured and with blanks behind it", async (io) => {
    expect(await saysDone(["working", `\\033[1;32m${marker}\\033[0m   `], { io })).toBe(true);
  });

  it.each(["terminal", "pipes"] as const)("is not heard in a %s when it only speaks of it", async (io) => {
    expect(await saysDone([`I print ${marker} when done`, `+${marker}`, "```", marker, "```"], { io })).toBe(false);
  });

  const stream = { family: "claude-code", structured: true, io: "pipes" } as const;
  const said = (text: string) =>
    `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"${text}"}]}}`;
  const printed = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"${marker}"}]}}`;
  const over = '{"type":"result","subtype":"success"}';

  it.each([
    ["is heard in a stream as the end of its last message", [said(marker), over], true],
    ["is not heard in what a tool printed, nor between the lines", [said("Now."), printed, marker, over], false],
  ])("%s", async (_, lines, expected) => {
    expect(await saysDone(lines, stream)).toBe(expected);
  });
});

async function boxed(behaviour: TypedInto): Promise<{ held: HolderFile; client: Client; reads(): string[] }> {
  const { command, all } = writeTypedInto(world.home, behaviour);
  return { ...(await watch(command, { family: "claude-code" })), reads: all };
}

const isDraft = (sight: Sight): boolean => sight.kind === "asks" && sight.what === "draft";

describe("a line that nobody has sent", () => {
  it("is told, and that it is gone", async () => {
    const { client } = await boxed({ typed: "rm -rf" });
    await client.hear("report", ({ report }) => report.sights.some(isDraft));
    client.say({ say: "attach", size: { cols: 80, rows: 24 } });
    await client.hear("attached");
    client.type("\r");
    await client.hear("report", ({ report }) => report.sights.some(({ kind }) => kind === "asks-no-more"));
  });

  it("is none while it is only suggested", async () => {
    const { client } = await boxed({ suggests: 'Try "fix the tests"' });
    await client.hear("report", ({ report }) => report.sights.some((it) => it.kind === "asks" && it.what === "prompt"));
    expect(reportsOf(client).some(({ sights }) => sights.some(isDraft))).toBe(false);
  });

  it("is none when we typed it ourselves and were kept from sending it", async () => {
    const { held, client, reads } = await boxed({ waits: true });
    await client.hear("report", ({ report }) => report.sights.some((it) => it.kind === "asks" && it.what === "prompt"));
    const order = { kind: "nudge" as const, text: "The last 5 calls failed.", notAfter: Date.now() + 60_000 };
    client.say({ say: "order", key: "k", incarnation: 1, epoch: 1, order });
    await until(() => reads().length === 1, "the text was read");
    const person = await world.connect(held);
    person.say({ say: "attach", size: { cols: 80, rows: 24 } });
    await person.hear("attached");
    letGo(world.home);
    await client.hear("carried-out");
    const refusedAt = Date.now();
    // By then its screen has been looked at often enough to have come to rest.
    await client.hear("report", ({ report }) => report.at > refusedAt + 4000);
    expect(reads()).toEqual([order.text]);
    expect(reportsOf(client).some(({ sights }) => sights.some(isDraft))).toBe(false);
  });
});

describe("a nudge", () => {
  const text = "The last 5 calls failed.";
  const order = () => ({ kind: "nudge" as const, text, notAfter: Date.now() + 60_000 });
  const isRead = (sight: Sight): boolean => sight.kind === "nudge-read";
  const receipts = (client: Client): Sight[] => reportsOf(client).flatMap(({ sights }) => sights.filter(isRead));
  const rests = (client: Client) =>
    client.hear("report", ({ report }) => report.sights.some((it) => it.kind === "asks" && it.what === "prompt"));

  it("is typed into a full-screen program, and taken in when its screen shows it as said", async () => {
    const { client, reads } = await boxed({ fullScreen: true, repeats: "at-once" });
    await rests(client);
    client.say({ say: "order", key: "n1", incarnation: 1, epoch: 1, order: order() });
    await client.hear("report", ({ report }) => report.sights.some(isRead));
    expect(reads()).toEqual([text, "\r"]);
    expect(receipts(client)).toEqual([{ kind: "nudge-read", nudge: "n1", by: "screen" }]);
  });

  it("that the program keeps waiting is not taken in before it is said", async () => {
    const { client } = await boxed({ fullScreen: true, repeats: "waiting" });
    await rests(client);
    client.say({ say: "order", key: "n1", incarnation: 1, epoch: 1, order: order() });
    await client.hear("carried-out");
    const sentAt = Date.now();
    await client.hear("report", ({ report }) => report.at > sentAt + 1500);
    expect(receipts(client)).toEqual([]);
    letGo(world.home);
    await client.hear("report", ({ report }) => report.sights.some(isRead));
  });

  it("as a message is read when the stream repeats it, and nothing else it prints is that", async () => {
    const script = join(world.home, "claude");
    const says = '{"type":"system","subtype":"init","session_id":"s","model":"m","tools":[]}';
    const repeats = `process.stdin.setEncoding("utf8").on("data", (line) => {
      const message = JSON.parse(line);
      console.log(line.trim());
      console.log(JSON.stringify({ ...message, message: { role: "user", content: "other words" }, isReplay: true }));
      console.log(JSON.stringify({ ...message, isReplay: true }));
    });`;
    writeFileSync(script, `#!${process.execPath}\nconsole.log('${says}');\n${repeats}\n`, { mode: 0o755 });
    const flags = ["-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"];
    const { client } = await watch([script, ...flags], { family: "claude-code", structured: true, io: "pipes" });
    await client.hear("report", ({ report }) => report.sights.some(({ kind }) => kind === "session"));
    client.say({ say: "order", key: "n1", incarnation: 1, epoch: 1, order: order() });
    await client.hear("report", ({ report }) => report.sights.some(isRead));
    expect(receipts(client)).toEqual([{ kind: "nudge-read", nudge: "n1" }]);
  });
});
