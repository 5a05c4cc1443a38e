// Takes so much from a shared rate limit, all at once, and prints when it got what: node taking-program.mjs NAME TIMES MOST PER_MS
import { createSharedRateLimit } from "@rouse/sdk";

const [name, times, most, perMs] = process.argv.slice(2);
const { ROUSE_URL: url, ROUSE_TOKEN: token } = process.env;
const limit = createSharedRateLimit({
  ...{ url, token, name },
  allow: { requests: { most: Number(most), perMs: Number(perMs) } },
});
await Promise.all(
  Array.from({ length: Number(times) }, async (_, n) => {
    await limit.take({ requests: 1 });
    // The same clock for all processes of a machine.
    console.log(JSON.stringify({ n, at: Number(process.hrtime.bigint()) / 1e6 }));
  }),
);
