import { describePlace, describeProblem } from "../../config/config-problem.ts";
import { loadConfig } from "../../config/load-config.ts";
import type { Surroundings } from "../surroundings.ts";
import { type Check, fail, ok, warn } from "./check.ts";

type Places = Pick<Surroundings, "environment" | "home" | "workingFolder">;

export async function checkConfig({ home, workingFolder, environment }: Places): Promise<Check[]> {
  const name = "config";
  const reading = await loadConfig({ home, workingFolder, environment });
  if (!reading.ok)
    return reading.problems.map((problem) =>
      fail(name, describeProblem(problem), "correct it; `rouse config check` shows whether it is right"),
    );
  const { sources, notices } = reading.config;
  return [
    ok(name, `valid, from ${sources.join(", ")}`),
    ...notices.map((notice) =>
      warn(name, `${describePlace(notice)}: ${notice.message}`, "keep it for later, or remove it"),
    ),
  ];
}
