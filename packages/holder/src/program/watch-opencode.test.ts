import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type Client, until } from "../holding.test-support.ts";
import type { Spec } from "../protocol/spec.ts";
import { makeOpencode } from "./make-opencode.test-support.ts";
import { eyeOf, nudge, ofKind, sightsOf, type Workplace, workplaceOfEach } from "./watched-program.test-support.ts";

let place: Workplace;
workplaceOfEach((fresh) => {
  place = fresh;
});

const startOpencode = (more: Partial<Spec> = {}): Promise<Client> =>
  place.start([process.execPath, makeOpencode(place.home)], { family: "opencode", ...more });

const tell = (what: string): void => writeFileSync(join(place.cwd, what), "");
const callsOf = (client: Client): number => ofKind(client, "tool-ended").length;
const sessionsOf = (client: Client): string[] => ofKind(client, "session").map(({ id }) => id);

/**
 * It makes calls, each of them when the one before was told: so its log was looked at as often at least. Every second
 * or third look at it is also one for a conversation that went on later.
 */
async function makesCalls(client: Client, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    const before = callsOf(client);
    tell("call");
    await until(() => callsOf(client) > before || sessionsOf(client).length > 1, "its next call is seen");
  }
}

describe("a holder of opencode", () => {
  it("sees its calls by the log it keeps, and follows it into another conversation", async () => {
    const client = await startOpencode();
    await until(() => callsOf(client) >= 3, "calls are seen");
    expect(eyeOf(client, "session-file")).toEqual({ eye: "session-file", sees: true, because: null });
    expect(sessionsOf(client)).toEqual(["ses_first"]);
    tell("next");
    await until(() => callsOf(client) >= 4, "a call of the other is seen");
    expect(sessionsOf(client)).toEqual(["ses_first", "ses_second"]);
  });

  it.each(["next-by-tool", "next-beside"])("does not take another one's conversation for its own: %s", async (how) => {
    const client = await startOpencode();
    await until(() => callsOf(client) >= 3, "calls are seen");
    tell(how);
    await makesCalls(client, 6);
    expect(sessionsOf(client)).toEqual(["ses_first"]);
  });

  it("tells what it asks after the call that it asks for, as it happened", async () => {
    const client = await startOpencode();
    await until(() => eyeOf(client, "session-file")?.sees === true, "its log is followed");
    const isAsked = (sight: Sight): boolean => sight.kind === "asks" && sight.what === "permission";
    const asked = (): number => sightsOf(client).filter(isAsked).length;
    for (let n = 0; n < 6; n++) {
      tell("ask");
      await until(() => asked() > n, "it asked");
      rmSync(join(place.cwd, "ask"));
      await until(() => ofKind(client, "asks-no-more").length > n, "it was answered");
    }
    const told = sightsOf(client).flatMap((sight) =>
      isAsked(sight) || (sight.kind === "tool-started" && sight.id.startsWith("asked")) ? [sight.kind] : [],
    );
    expect(told).toEqual(Array.from({ length: 6 }, () => ["tool-started", "asks"]).flat());
  });

  it("tells what it asks again when it works on behind that, with the work", async () => {
    const client = await startOpencode();
    await until(() => eyeOf(client, "session-file")?.sees === true, "its log is followed");
    const asked = (): number => ofKind(client, "asks").filter(({ what }) => what === "permission").length;
    tell("ask");
    await until(() => asked() === 1, "it asked");
    const before = callsOf(client);
    tell("call");
    await until(() => callsOf(client) > before && asked() === 2, "it asks still");
    expect(ofKind(client, "asks-no-more")).toEqual([]);
    const kinds = sightsOf(client).map(({ kind }) => kind);
    expect(kinds.lastIndexOf("asks")).toBeGreaterThan(kinds.lastIndexOf("tool-ended"));
  });

  it("sees a nudge read when its model is asked with it, not when its screen shows it", async () => {
    const client = await startOpencode();
    await until(() => eyeOf(client, "session-file")?.sees === true, "its log is followed");
    expect((await nudge(client)).outcome).toEqual({ kind: "sent", channel: "terminal", echoed: true });
    await makesCalls(client, 4);
    expect(ofKind(client, "nudge-read")).toEqual([]);
    tell("go");
    await until(() => ofKind(client, "nudge-read").length > 0, "it is read");
    expect(ofKind(client, "nudge-read")).toEqual([{ kind: "nudge-read", nudge: "n1" }]);
  });

  it("that goes on with a conversation tells it so at its input, as soon as that shows", async () => {
    tell("go");
    const client = await startOpencode({ opening: "You were stopped and started again." });
    await until(() => ofKind(client, "nudge-read").length > 0, "its model is asked with it");
  });
});
