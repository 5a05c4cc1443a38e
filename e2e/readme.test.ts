import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { endHeldAfterwards } from "./held-agents.ts";
import { startProgram } from "./run-rouse.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

const repository = join(import.meta.dirname, "..");
const readme = readFileSync(join(repository, "README.md"), "utf8");

/** What the page says to type and what it says will come of it, block by block. */
const firstMinute = [...(readme.split(/^## /m)[1] ?? "").matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(
  ([, language, text]) => ({ language, text: text ?? "" }),
);

it("the first minute of the README, typed as it stands, ends with the list it shows", async () => {
  const [start, greeting, typed, list] = firstMinute;
  expect(firstMinute.map(({ language }) => language)).toEqual(["sh", "", "sh", ""]);
  const home = join(makeFolder(), "home");
  endHeldAfterwards(home);
  const type = (text: string) =>
    startProgram("bash", ["-ec", `cd ${repository}; ${text}`], { home, environment: { ROUSE_PORT: "0" } });

  const daemon = type(start?.text ?? "");
  await until(
    "it says where it watches",
    () => /is watching on/.test(daemon.stdout()) || daemon.child.exitCode !== null,
  );
  expect(daemon.stdout()).toMatch(new RegExp(patternOf(greeting?.text.replace("/home/you/.rouse", home) ?? "")));

  const { code, stdout, stderr } = await type(typed?.text ?? "").ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(new RegExp(patternOf(list?.text ?? "")));
  daemon.child.kill("SIGTERM");
  await daemon.ended;
}, 120_000);

/** Numbers and the width of columns are as they are that day; what a young agent does may not be seen yet. */
const patternOf = (text: string): string =>
  text
    .trim()
    .replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
    .replace(/\d+/g, "\\d+")
    .replace("RUNNING", "(RUNNING|STARTING)")
    .replace("\\d+ s ago", "(\\d+ s ago|–)")
    .replace(/ +/g, " +");
