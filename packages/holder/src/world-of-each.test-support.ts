import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { type BundledHolder, bundleHolder } from "./bundle-holder.test-support.ts";
import { openWorld, type World } from "./holding.test-support.ts";

/** Holders made of today's sources, once for a file of tests, and a world for each test. The caller removes it. */
export function worldOfEach(take: (world: World, bundled: BundledHolder) => void): void {
  let bundled: BundledHolder;
  beforeAll(async () => {
    bundled = await bundleHolder();
  });
  afterAll(() => bundled.remove());
  beforeEach(() => take(openWorld(bundled.holderFile), bundled));
}

/** The same, removed after each test. What is registered later to run after a test runs before that. */
export function freshWorld(): World {
  let world: World | null = null;
  worldOfEach((fresh) => {
    world = fresh;
  });
  afterEach(() => world?.remove());
  return new Proxy({} as World, {
    get: (_, key) => Reflect.get(world ?? expect.fail("there is a world only during a test"), key),
  });
}
