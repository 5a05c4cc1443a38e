import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { type Line, line } from "../report.ts";

/** As it is published. */
const sdk = "./packages/sdk/dist";
const parts: Readonly<Record<string, readonly [ours: string, peer?: readonly [name: string, code: string]]>> = {
  "heartbeats, steps, checkpoints, breakers (rouse.agent)": [`export { rouse } from "${sdk}/agent.js";`],
  breaker: [
    `export { createBreaker } from "${sdk}/index.js";`,
    ["cockatiel", 'export { circuitBreaker, ConsecutiveBreaker, handleAll } from "cockatiel";'],
  ],
  retry: [`export { retry } from "${sdk}/index.js";`, ["p-retry", 'export { default } from "p-retry";']],
  "retry and fetch": [`export { retry, fetchWithRetry } from "${sdk}/index.js";`],
  "rate limit": [
    `export { createRateLimit } from "${sdk}/index.js";`,
    ["rate-limiter-flexible", 'export { RateLimiterMemory, RateLimiterQueue } from "rate-limiter-flexible";'],
  ],
  "rate limit that is shared": [`export { createSharedRateLimit } from "${sdk}/index.js";`],
  "context compaction": [`export { compactContext } from "${sdk}/index.js";`],
  everything: [`export * from "${sdk}/index.js";`],
};

/** What a program that is bundled gets of each part, minified and compressed. */
export async function benchSizes(): Promise<Line[]> {
  const lines: Line[] = [];
  for (const [part, [ours, peer]] of Object.entries(parts)) {
    const [own, other] = [await compressed(ours), peer === undefined ? null : await compressed(peer[1])];
    lines.push(
      line(`size of ${part}${peer === undefined ? "" : `, beside ${peer[0]}`}`, "kB gzip", own, {
        peer: other,
        ratio: other === null ? null : own / other,
      }),
    );
  }
  return lines;
}

async function compressed(contents: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: process.cwd(), loader: "ts" },
    ...{ bundle: true, minify: true, write: false, format: "esm", target: "es2023", platform: "node" },
    logLevel: "silent",
  });
  return gzipSync(outputFiles[0]?.contents ?? "").byteLength / 1000;
}
