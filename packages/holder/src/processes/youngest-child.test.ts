import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  killHard,
  type Nursery,
  onLinux,
  openNursery,
  patient,
  startAgent,
  until,
} from "./real-processes.test-support.ts";
import { createTreeWatch } from "./watch-tree.ts";

describe.skipIf(!onLinux)("the youngest child", patient, () => {
  let nursery: Nursery;
  beforeEach(() => {
    nursery = openNursery();
  });
  afterEach(() => nursery.clear());

  it("is told with the moment it was started, which stays, until there is a younger one or none", async () => {
    const { folder, linger } = nursery;
    const script = nursery.write("agent.sh", [
      `mkfifo ${folder}/never`,
      `${linger} & echo $! > ${folder}/child`,
      `read x < ${folder}/never`,
    ]);
    const before = Date.now();
    const alone = startAgent(nursery.write("alone.sh", [`exec ${linger}`]));
    expect(createTreeWatch(alone.root).facts().youngestChildAt).toBeNull();

    const { root } = startAgent(script);
    const watch = createTreeWatch(root);
    await until(() => nursery.lines("child").length > 0, "a child");
    const child = Number(nursery.lines("child")[0]);
    const at = watch.facts().youngestChildAt ?? 0;
    // The kernel counts in hundredths of a second.
    expect(at).toBeGreaterThanOrEqual(before - 20);
    expect(at).toBeLessThanOrEqual(Date.now() + 20);
    for (let look = 0; look < 5; look++) expect(watch.facts().youngestChildAt).toBe(at);
    killHard(child);
    await until(() => watch.facts().youngestChildAt === null, "no child");
  });
});
