import { it } from "vitest";
import { expectAGoodWeek } from "./sim-run.test-support.ts";

// Two such weeks are more than a hundred thousand agent-hours; each has a file of its own, so that they run side by side.
it(
  "a week of coding agents, first: nobody healthy is stopped, nobody sick is left, nothing is done twice, and who dies is brought back from the right place",
  { timeout: 1_800_000 },
  () => expectAGoodWeek(2),
);
