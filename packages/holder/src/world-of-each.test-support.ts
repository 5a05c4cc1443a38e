import { afterAll, beforeAll, beforeEach } from "vitest";
import { type BundledHolder, bundleHolder } from "./bundle-holder.test-support.ts";
import { openWorld, type World } from "./holding.test-support.ts";

/** Holders made of today's sources, once for a file of tests, and a world of its own for each of them. Whoever takes it removes it. */
export function worldOfEach(take: (world: World, bundled: BundledHolder) => void): void {
  let bundled: BundledHolder;
  beforeAll(async () => {
    bundled = await bundleHolder();
  });
  afterAll(() => bundled.remove());
  beforeEach(() => take(openWorld(bundled.holderFile), bundled));
}
