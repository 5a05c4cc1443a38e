// A program of somebody who installed the package "rouse": node embedded-program.mjs HOME CALLS, prints the outcome of every call.
import { Fault, openRouse } from "rouse";

const [home, calls] = process.argv.slice(2);
const rouse = await openRouse({ home });
const outcomes = [];
for (const [method, ...args] of JSON.parse(calls)) {
  const outcome = await rouse[method](...args).then(
    (value) => ({ value }),
    (error) => ({ fault: error instanceof Fault ? error.code : String(error) }),
  );
  outcomes.push(outcome);
}
await rouse.close();
process.stdout.write(JSON.stringify(outcomes));
