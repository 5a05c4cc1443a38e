import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agentOnce, forever, isHeld, isOver, sh } from "./agent-once.ts";
import { daemon, holdForAll, spawnScript } from "./held-agents.ts";
import { openRouse, openTerminal } from "./open-terminal.ts";
import { program, startRouse } from "./run-rouse.ts";
import { until } from "./until.ts";

const leave = "\x1dd";

holdForAll();

const attach = (agentId: string) => openRouse(["attach", agentId], daemon);

/** Answers every line that is typed; `quit` ends it with 3. */
const echoing = 'while read x; do [ "$x" = quit ] && exit 3; echo "got <$x>"; done';

/** A program of that name, and what it shows. */
async function spawnClaude(name: string, shown: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "rouse-claude-"));
  writeFileSync(join(folder, "claude"), `#!/bin/sh\nprintf '${shown}'\n${forever}\n`, { mode: 0o755 });
  expect(await daemon.cli("spawn", "--name", name, "--", join(folder, "claude"))).toMatchObject({ code: 0 });
  await agentOnce(daemon, name, "is held", isHeld);
}

const attachedTo = (agentId: string, count: number) =>
  agentOnce(daemon, agentId, `has ${count} attached`, ({ terminal }) => terminal?.attached === count);

describe("somebody who looks at the bytes an agent wrote", () => {
  it("gets them in a pipe, and on a terminal only by force", async () => {
    await spawnScript(daemon, "loud", `printf '\\033]0;owned\\007loud and clear\\n'; ${forever}`);
    await until("it is kept", async () => (await daemon.cli("logs", "loud")).stdout.includes("clear") || undefined);
    expect((await daemon.cli("logs", "loud", "--raw")).stdout).toContain("\x1b]0;owned\x07");
    const refused = openRouse(["logs", "loud", "--raw"], daemon);
    expect(await refused.ended).toMatchObject({ code: 2 });
    expect(refused.text()).toContain("--force");
    expect(refused.text()).not.toContain("owned");
    const forced = openRouse(["logs", "loud", "--raw", "--force"], daemon);
    await forced.shows("\x1b]0;owned\x07");
    await forced.ended;
  });
});

describe("somebody who nudges an agent", () => {
  it("is told, with 1, that it was not given because it asks something, and no time of work is made up", async () => {
    await spawnClaude("trusting", "Do you trust the files in this folder?\n\n ❯ 1. Yes, proceed\n   2. No, exit\n");
    await agentOnce(daemon, "trusting", "asks", ({ terminal }) => terminal?.needsYou != null);
    const end = await daemon.cli("nudge", "trusting", "--json");
    expect(end.code).toBe(1);
    expect(JSON.parse(end.stdout)).toMatchObject({
      state: "not-sent",
      because: "asks",
      message: expect.stringMatching(/^REMINDER: You are asked how it goes\. /),
    });
  });

  it("is told that it was not given while somebody is attached", async () => {
    await spawnClaude("reading", "working\n");
    const visitor = attach("reading");
    await attachedTo("reading", 1);
    expect(await daemon.cli("nudge", "reading", "go on")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("was not nudged: attached"),
    });
    visitor.type(leave);
    await visitor.ended;
  });
});

describe("somebody who attaches", () => {
  it("again, in a window of the same size, sees the full screen of an agent that draws no more", async () => {
    await spawnScript(daemon, "full", `printf '\\033[?1049h\\033[Hfull screen'; ${forever}`);
    for (let visit = 0; visit < 2; visit++) {
      const terminal = attach("full");
      await terminal.shows("full screen");
      terminal.type(leave);
      await terminal.ended;
    }
  });

  it("sees the screen that is there, types, leaves, and the agent goes on", async () => {
    await spawnScript(daemon, "pet", `printf 'old\\033[2J\\033[H\\033[31mred\\033[0m screen\\n'; ${echoing}`);
    const terminal = openTerminal(
      "bash",
      [
        "--norc",
        "-c",
        `echo my own line; stty -a > before; ${process.execPath} ${program} attach pet; echo "code $?"; stty -a > after; cmp before after && echo same`,
      ],
      daemon,
    );
    await until("the screen is shown", async () => (await terminal.screen())[0] === "red screen");
    expect(terminal.text()).not.toContain("old");
    terminal.type("hello\r");
    await terminal.shows("got <hello>");
    await attachedTo("pet", 1);
    const health = JSON.parse((await daemon.cli("health", "pet", "--json")).stdout);
    expect(health.terminal.attached).toBe(1);
    terminal.type(leave);
    await terminal.shows("same");
    expect((await terminal.screen()).filter((line) => line !== "")).toEqual([
      "red screen",
      "hello",
      "got <hello>",
      "rouse: left pet; it goes on. `rouse attach pet` comes back",
      "code 0",
      "same",
    ]);
    expect(await terminal.scrolledAway()).toContain("my own line");
    await attachedTo("pet", 0);
    expect((await daemon.cli("audit", "list")).stdout).toMatch(/ agent-attached +pet .* agent-detached +pet /s);
    const again = attach("pet");
    await until("the screen is still there", async () => {
      const [first, second, third] = await again.screen();
      return first === "red screen" && second === "hello" && third === "got <hello>";
    });
    again.type(leave);
    expect((await again.ended).code).toBe(0);
  });

  it("sends one Ctrl-] by typing it twice, and every other key as it is", async () => {
    await spawnScript(daemon, "keys", "stty raw -echo; echo ready; head -c 7 | od -An -tx1; exit 0");
    const terminal = attach("keys");
    await terminal.shows("ready");
    terminal.type("\x1d\x1d\x03\x1a\x1dx\x04D");
    await terminal.shows("1d 03 1a 1d 78 04 44");
    expect((await terminal.ended).code).toBe(0);
    await agentOnce(daemon, "keys", "is over", isOver);
  });

  it("may be two at once: both see and type, and the smaller window decides the size", async () => {
    await spawnScript(
      daemon,
      "shared",
      `trap 'stty size' WINCH; echo ready; while :; do read x && echo "got <$x>"; done`,
    );
    const [one, two] = [attach("shared"), attach("shared")];
    await attachedTo("shared", 2);
    one.type("from one\r");
    for (const terminal of [one, two]) await terminal.shows("got <from one>");
    two.type("from two\r");
    for (const terminal of [one, two]) await terminal.shows("got <from two>");
    two.resize(60, 20);
    for (const terminal of [one, two]) await terminal.shows("20 60");
    two.type(leave);
    await two.ended;
    await one.shows("30 100", one.text().indexOf("20 60"));
    one.type(leave);
    await one.ended;
    await attachedTo("shared", 0);
  });

  it("does not end the agent by closing the window, nor by being killed", async () => {
    await spawnScript(daemon, "tough", `echo ready; ${echoing}`);
    const closed = attach("tough");
    await closed.shows("ready");
    await attachedTo("tough", 1);
    closed.close();
    await closed.ended;
    await attachedTo("tough", 0);
    const killed = attach("tough");
    await killed.shows("ready");
    await attachedTo("tough", 1);
    process.kill(killed.pid, "SIGKILL");
    await killed.ended;
    const { terminal } = await attachedTo("tough", 0);
    expect(terminal?.exit).toBeNull();
    const last = attach("tough");
    await last.shows("ready");
    last.type("still there\r");
    await last.shows("got <still there>");
    last.type("quit\r");
    await last.shows("tough exited 3");
    expect((await last.ended).code).toBe(0);
  });

  it("is told how to leave before the agent's screen is drawn, and in the window's title until they have left", async () => {
    await spawnScript(daemon, "guide", `echo "its first row"; ${echoing}`);
    const window = attach("guide");
    const told = await window.shows("guide: Ctrl-] d leaves it, and it goes on");
    const toldAt = performance.now();
    const titled = await window.shows("\x1b]0;guide: Ctrl-] d leaves\x07", told);
    await window.shows("its first row", titled);
    // Not at once: a part of the time to read it that a busy machine does not eat up.
    expect(performance.now() - toldAt).toBeGreaterThan(100);
    window.type(leave);
    await window.shows("\x1b[23;0t", titled);
    await window.shows("left guide; it goes on");
    expect((await window.ended).code).toBe(0);
  });

  it("hears Ctrl-C go to the agent, and that it ended", async () => {
    await spawnScript(daemon, "interrupted", `echo ready; ${forever}`);
    const terminal = attach("interrupted");
    await terminal.shows("ready");
    terminal.type("\x03");
    await terminal.shows("interrupted ended by SIGINT");
    const { terminal: seen, activity } = await agentOnce(daemon, "interrupted", "is over", isOver);
    expect(seen?.exit).toMatchObject({ signal: "SIGINT", cause: "person" });
    expect(activity.kind).toBe("FINISHED");
  });

  it("can answer what an agent asks, after which it needs nobody any more", async () => {
    await spawnScript(daemon, "asking", `printf 'Go on? [y/N] '; read x; echo "answer <$x>"; ${forever}`);
    await agentOnce(daemon, "asking", "needs somebody", ({ terminal }) => terminal?.needsYou != null);
    const terminal = attach("asking");
    await terminal.shows("Go on? [y/N]");
    terminal.type("y\r");
    await terminal.shows("answer <y>");
    await agentOnce(daemon, "asking", "needs nobody", ({ terminal: seen }) => seen?.needsYou === null);
    terminal.type(leave);
    await terminal.ended;
  });

  it("sees rows where the agent puts them, and bare line feeds as it writes them", async () => {
    await spawnScript(
      daemon,
      "artist",
      `stty raw -echo; echo ready; head -c 1 > /dev/null; printf '\\033[2J\\033[3;5Hthird'; printf '\\nbelow\\033[7;1Hseventh'; ${forever}`,
    );
    const terminal = attach("artist");
    await terminal.shows("ready");
    terminal.type("x");
    const drawn = ["", "", "    third", "         below", "", "", "seventh"];
    await until("it is drawn", async () => (await terminal.screen()).slice(0, 7).join("\n") === drawn.join("\n"));
    terminal.type(leave);
    await terminal.ended;
  });

  it("may look at a full-screen program, and has a usable terminal afterwards", async () => {
    const end = await daemon.cli("spawn", "--name", "editor", "--", "vim", "-u", "NONE", "-N", "-n", "draft.txt");
    expect(end.code).toBe(0);
    const terminal = attach("editor");
    await until("vim is shown", async () => (await terminal.screen())[5]?.startsWith("~"));
    terminal.type("itext in vim\x1b");
    await until("vim shows it", async () => (await terminal.screen())[0] === "text in vim");
    terminal.type(leave);
    await terminal.ended;
    expect((await terminal.screen()).filter((line) => line !== "")).toEqual([
      "rouse: left editor; it goes on. `rouse attach editor` comes back",
    ]);
    const again = attach("editor");
    await until("vim is painted anew", async () => {
      const lines = await again.screen();
      return lines[0] === "text in vim" && lines[5]?.startsWith("~");
    });
    again.type(":q!\r");
    await again.shows("editor exited 0");
  });
});

describe("somebody whose terminal is stuck", () => {
  it("does not hold the agent up, and sees its screen as it is when the terminal goes on", async () => {
    const flood = "head -c 30000000 /dev/zero | tr '\\0' x | fold -w 90";
    await spawnScript(
      daemon,
      "flooding",
      `printf '\\033[?1049h'; echo ready; read go; ${flood}; printf '\\033[2J\\033[2;3Hcalm'; read end`,
    );
    const terminal = attach("flooding");
    await terminal.shows("ready");
    await attachedTo("flooding", 1);
    terminal.pause();
    terminal.type("\r");
    await agentOnce(
      daemon,
      "flooding",
      "has written all",
      ({ terminal: seen }) => (seen?.outputBytes ?? 0) > 30_000_000,
    );
    terminal.resume();
    await until("it sees the screen", async () => (await terminal.screen()).join("\n").trimEnd() === "\n  calm");
    terminal.type(leave);
    await terminal.ended;
    expect((await terminal.screen()).join("\n")).toContain("left flooding; it goes on");
  });
});

describe("attaching that makes no sense", () => {
  it.each([["without a terminal", 2, "pet", /^rouse: attach needs a terminal; `rouse logs -f`[^\n]*\n$/]])(
    "is refused %s",
    async (_, code, agentId, sentence) => {
      const end = await daemon.cli("attach", agentId);
      expect(end).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(sentence) });
    },
  );

  it("is refused for an agent that is over, for one nobody knows, and for one between pipes", async () => {
    const over = attach("interrupted");
    await over.shows("interrupted is over; `rouse logs interrupted` shows what it wrote");
    expect((await over.ended).code).toBe(1);
    const unknown = attach("nobody");
    await unknown.shows("no agent nobody was started here");
    expect((await unknown.ended).code).toBe(5);
    const piped = startRouse(["run", "--name", "piped", "--", ...sh(`echo ready; ${forever}`)], daemon);
    await until("it runs", () => piped.stdout() === "ready\n");
    await agentOnce(daemon, "piped", "is held", isHeld);
    const between = attach("piped");
    await between.shows("cannot attach to piped: it has no terminal of its own");
    expect((await between.ended).code).toBe(1);
    piped.child.kill("SIGTERM");
    await piped.ended;
  });
});
