import { it, afterAll } from "vitest";
import { cleanUp } from "./clean-up.ts";
import { startDaemon } from "./start-daemon.ts";
import { openRouse, openTerminal } from "./open-terminal.ts";
import { endAgentsAfterwards } from "./end-agents.ts";
import { program } from "./run-rouse.ts";
afterAll(cleanUp);
it("trial", async () => {
  const d = await startDaemon(); endAgentsAfterwards(d.home);
  const show = (r: any) => console.log(JSON.stringify(r, null, 1));
  const t = openRouse(["run", "--", "sh", "-c", "read x; echo got $x; stty size; exit 7"], d);
  t.type("hello\r"); console.log(await t.ended, t.text());
  const s = openTerminal("bash", ["--norc", "-c", `stty -a > before; node ${program} run --name ed -- vim -u NONE f.txt; echo code $?; stty -a > after; cmp before after && echo SAME; diff before after`], d);
  await s.shows("~"); console.log((await s.screen()).slice(0,5)); s.type("ihello from vim\x1b:wq\r"); console.log(await s.ended, (await s.screen()).filter(Boolean));
  show(await d.cli("spawn", "--name", "w1", "--", "sh", "-c", "echo one; printf '\\033[31mred\\033[0m\\n'; printf 'Continue? [y/N] '; read x; echo $x; sleep 100"));
  await new Promise((r) => setTimeout(r, 2500));
  for (const w of ["ps", "health w1", "why w1", "logs w1", "logs --raw w1", "events", "health w1 --json", "ps --json", "terminate w1", "ps", "health w1", "recover w1", "recover w1 --json", "terminate w1 --json", "terminate w1", "ps", "events --agent w1", "terminate nobody", "recover nobody", "attach w1", "attach nobody", "logs nobody"]) { const r = await d.cli(...w.split(" ")); console.log("$ rouse " + w + "  → " + r.code + "\n" + r.stdout + r.stderr); }
});
