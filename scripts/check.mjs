// npm run check: types, lint and format, and the direction of imports; all of them, even if the first fails.
import { ensureInstalled } from "./ensure-installed.mjs";
import { nodeSucceeds, programs } from "./run-program.mjs";

const steps = [
  { name: "types", command: [programs.tsc, "-b"] },
  { name: "lint and format", command: [programs.biome, "check", "."] },
  { name: "tidy", command: [programs.vitest, "run", "--project", "unit", "tidy.test.ts"] },
];

await ensureInstalled();
const outcomes = steps.map(({ name, command }) => {
  console.log(`\n${name}:`);
  return { name, passed: nodeSucceeds(command) };
});
console.log();
for (const { name, passed } of outcomes) console.log(`${passed ? "passed" : "FAILED"}  ${name}`);
process.exit(outcomes.every(({ passed }) => passed) ? 0 : 1);
