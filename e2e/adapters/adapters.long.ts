import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { connectCheckpoints } from "@rouse/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, makeFolder } from "../clean-up.ts";
import { type Ended, type Running, startProgram } from "../run-rouse.ts";
import { type Daemon, startDaemon } from "../start-daemon.ts";
import { until } from "../until.ts";
import { type FrameworkName, frameworkNames, frameworks } from "./frameworks.ts";
import { installFramework, installNode, layOut } from "./install-frameworks.ts";
import { type Script, startChat } from "./scripted-chat.ts";

// Part of `npm run test:long`: the real packages from npm's registry, on the Node they need, and a scripted model.

const node = installNode();
const fact = 'FACT: The weather was looked up before. "Nothing" has come of it.';
const nobodyThere = { ROUSE_URL: "http://127.0.0.1:9", ROUSE_TOKEN: "of-nobody" };

afterEach(cleanUp);

describe.each(frameworkNames)("an agent built with %s", (name) => {
  const installed = installFramework(name);
  const missing = [node, installed].flatMap((one) => ("missing" in one ? [one.missing] : []));
  if (missing.length > 0)
    console.error(`e2e: ${frameworks[name].title.toUpperCase()} IS NOT THERE, ITS TESTS ARE SKIPPED: ${missing}`);
  const test = it.skipIf(missing.length > 0);

  /** The program of this framework, with a model that follows the script. */
  async function play(script: Script, environment: Record<string, string>) {
    if ("missing" in node || "missing" in installed) throw new Error(`it is not there: ${missing}`);
    const folder = join(makeFolder(), "run");
    mkdirSync(folder);
    layOut(folder, installed);
    const chat = await startChat(script);
    const program = startProgram(node.folder, [join(folder, frameworks[name].program)], {
      home: join(folder, "home"),
      environment: { ROUSE_AGENT_ID: name, MODEL_URL: chat.url, ...environment },
    });
    return { ...chat, program };
  }

  // LangChain 1.5 with `streaming: true` waits for ever for this model's stream, without us as well.
  const streamed = name === "claude" || name === "langchain" ? ["no"] : ["no", "yes"];

  test.each(streamed)(
    "tells its steps and tokens, and a nudge is seen once a model has answered it (streamed: %s)",
    async (STREAMED) => {
      const daemon = await startDaemon();
      let program: Running | undefined;
      let wasSeenTooEarly = false;
      const script: Script = async (number, body) => {
        if (number === 1) return { call: "note" };
        if (number === 2) {
          // Before its first beat it was only registered, and there is no way to it.
          await until(
            "Rouse can reach it",
            async () => (await daemon.rouse.sendNudge(name, fact)).state !== "not-sent",
          );
          await until("the agent has got the nudge", () => program?.stdout().includes(`heard: ${fact}`));
          return { call: "note" };
        }
        if (number === 3) {
          expect(body).toContain(JSON.stringify(fact).slice(1, -1));
          // The beats that go by meanwhile must not say that it was seen.
          const heardBefore = (await daemon.rouse.why(name)).beats.accepted;
          await until(
            "it has beaten twice",
            async () => (await daemon.rouse.why(name)).beats.accepted >= heardBefore + 2,
          );
          wasSeenTooEarly = (await daemon.events("NUDGE_SEEN")).length > 0;
        }
        return { say: "It rains." };
      };
      const run = await play(script, { ...of(daemon), STREAMED, ROUSE_TASK_ID: "the-weather" });
      program = run.program;
      const { code, stdout, stderr } = await endOf(program);
      expect({ code, stderr, said: /^said: (.*)$/m.exec(stdout)?.[1] }, stdout).toEqual({
        code: 0,
        stderr: "",
        said: "It rains.",
      });
      expect(run.requests[1]).not.toContain(JSON.stringify(fact).slice(1, -1));
      expect(wasSeenTooEarly).toBe(false);
      const nudges = await daemon.events("NUDGE_QUEUED", "NUDGE_SENT", "NUDGE_NOT_SENT", "NUDGE_SEEN");
      expect(
        nudges.map(({ type }) => type),
        stdout,
      ).toEqual(["NUDGE_QUEUED", "NUDGE_SENT", "NUDGE_SEEN"]);
      const { metrics, activity } = await daemon.rouse.getAgentHealth(name);
      expect(activity.kind).toBe("FINISHED");
      expect(metrics.toolCallCount).toBe(2);
      expect(metrics.tokenCount).toBeGreaterThanOrEqual(name === "claude" ? 27_000 : 90);
      const { steps } = await daemon.rouse.steps(name);
      expect(steps.map(({ kind }) => kind)).toEqual(["tool_call", "tool_result", "tool_call", "tool_result"]);
      expect(new Set(steps.map(({ tool }) => tool))).toEqual(new Set([name === "claude" ? "Bash" : "note"]));
      expect(steps[1]?.text_digest).toEqual(expect.any(String));
      expect(steps[1]?.failed).toBe(false);
      if (name === "langchain")
        expect((await connectCheckpoints(daemon).checkpoints("the-weather")).length).toBeGreaterThan(3);
      if (name === "claude") expect(stdout).toContain("session: true");
    },
  );

  it.skipIf(missing.length > 0 || name !== "claude")(
    "hears a nudge while its session is idle, and the user's own input goes on",
    async () => {
      const daemon = await startDaemon();
      let wasSeenTooEarly = false;
      const script: Script = async (number, body) => {
        if (number === 1) return { say: "It rains." };
        if (number === 2) {
          expect(body).toContain(JSON.stringify(fact).slice(1, -1));
          const heardBefore = (await daemon.rouse.why(name)).beats.accepted;
          await until(
            "it has beaten twice",
            async () => (await daemon.rouse.why(name)).beats.accepted >= heardBefore + 2,
          );
          wasSeenTooEarly = (await daemon.events("NUDGE_SEEN")).length > 0;
          return { say: "I look again." };
        }
        expect(body).toContain("And tomorrow?");
        expect(body.split(JSON.stringify(fact).slice(1, -1))).toHaveLength(2);
        return { say: "It shines." };
      };
      const { program, requests } = await play(script, { ...of(daemon), PROMPT: "stream" });
      await until("its first turn is over", () => program.stdout().includes("result: It rains."));
      await until(
        "Rouse knows that it is idle",
        async () => (await daemon.rouse.getAgentHealth(name)).activity.kind === "IDLE",
      );
      await daemon.rouse.sendNudge(name, fact);
      const { code, stdout, stderr } = await endOf(program);
      expect({ code, stderr, said: /^said: (.*)$/m.exec(stdout)?.[1] }, stdout).toEqual({
        code: 0,
        stderr: "",
        said: "It rains. I look again. It shines.",
      });
      expect(requests).toHaveLength(3);
      expect(wasSeenTooEarly).toBe(false);
      expect(await daemon.events("NUDGE_SEEN")).toHaveLength(1);
    },
  );

  test("trips the breaker of a tool that fails, and the model reads why", async () => {
    const daemon = await startDaemon();
    const script: Script = (number) => (number <= 6 ? { call: "lookup" } : { say: "I give up." });
    const { program, requests } = await play(script, of(daemon));
    const { code, stdout } = await endOf(program);
    expect({ code, said: /^said: (.*)$/m.exec(stdout)?.[1] }, stdout).toEqual({ code: 0, said: "I give up." });
    const tool = name === "claude" ? "Bash" : "lookup";
    if (name !== "claude") expect(stdout.match(/^looked up$/gm)).toHaveLength(5);
    expect(requests[5]).not.toContain("is open");
    expect(requests[6]).toMatch(/tool_execution(\/\w+)? is open/);
    expect(await daemon.rouse.getCircuitBreakerStatus(`${name}/tool_execution/${tool}`)).toMatchObject({
      state: "OPEN",
    });
  });

  test("waits for its provider, and Rouse knows it, while the provider refuses", async () => {
    const daemon = await startDaemon();
    let wasWaiting = false;
    const script: Script = async (number) => {
      if (number > 1 && !wasWaiting) wasWaiting = await isWaiting(daemon, name);
      return number <= refusals(name) ? { refuse: 429, afterSeconds: 2 } : { say: "It rains." };
    };
    const { program } = await play(script, of(daemon));
    await until("Rouse knows that it waits", async () => wasWaiting || (await isWaiting(daemon, name)));
    await until("it has ended or failed", () => /^(said|failed): /m.test(program.stdout()));
    const breakers = await daemon.rouse.getAllCircuitBreakers();
    expect(breakers.filter(({ state }) => state !== "CLOSED")).toEqual([]);
  });

  test("does the same without Rouse", async () => {
    const script: Script = (number) => (number === 1 ? { call: "note" } : { say: "It rains." });
    const { program } = await play(script, nobodyThere);
    const { code, stdout, stderr } = await endOf(program);
    expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("said: It rains.");
  });
});

/** Its end; one that failed stays, and says why. */
async function endOf(program: Running): Promise<Ended> {
  const failed = until("it has failed", () => /^failed: .*$/m.exec(program.stdout())?.[0], 90_000);
  failed.catch(() => undefined);
  return Promise.race([program.ended, failed.then((why) => Promise.reject(new Error(why)))]);
}

const of = ({ url, token }: Daemon) => ({ ROUSE_URL: url, ROUSE_TOKEN: token });

/** Some retry by themselves, and some, as they are set up here, leave it to the program. */
const refusals = (name: FrameworkName): number => (name === "openai" ? Number.POSITIVE_INFINITY : 1);

async function isWaiting({ rouse }: Daemon, agentId: string): Promise<boolean> {
  const { activity } = await rouse.getAgentHealth(agentId).catch(() => ({ activity: null }));
  return activity?.kind === "WAITING" && activity.for === "provider";
}
