import { describe, expect, it } from "vitest";
import { admitMonitors, highestLeap } from "./admit-monitors.ts";

function admission(bornFor: string | null = null) {
  const owners: string[] = [];
  const admitted = admitMonitors(bornFor, (store) => owners.push(store));
  return { ...admitted, owners, comes: (store: string, epoch: number) => admitted.refuses({ store, epoch }) };
}

describe("a holder", () => {
  it("belongs to the store it was started for, or else to that of the first monitor", () => {
    const born = admission("ours");
    expect(born.comes("other", 1)).toBe("other-store");
    expect(born.comes("ours", 1)).toBe(null);
    expect(born.owners).toEqual([]);
    const unclaimed = admission();
    expect(unclaimed.comes("first", 3)).toBe(null);
    expect(unclaimed.comes("second", 4)).toBe("other-store");
    expect(unclaimed.owners).toEqual(["first"]);
    expect([unclaimed.store(), unclaimed.epoch()]).toEqual(["first", 3]);
  });

  it("obeys the newest monitor of its store, up to a leap that can be believed", () => {
    const { comes } = admission("ours");
    expect([comes("ours", 7), comes("ours", 7), comes("ours", 6)]).toEqual([null, null, "old-epoch"]);
    expect(comes("ours", 7 + highestLeap + 1)).toBe("epoch-too-high");
    expect(comes("ours", 7 + highestLeap)).toBe(null);
    expect(comes("ours", 8)).toBe("old-epoch");
  });

  it("hears nothing of a refused monitor's epoch", () => {
    const { comes, epoch } = admission("ours");
    comes("ours", 2);
    comes("other", 3);
    comes("ours", 1_000_000);
    expect(epoch()).toBe(2);
  });

  it("that was handed over counts epochs anew, also when it stays with its store", () => {
    const { comes, adopt, owners } = admission("ours");
    comes("ours", 5000);
    adopt("ours");
    expect(comes("ours", 3)).toBe(null);
    adopt("next");
    expect([comes("ours", 6), comes("next", 1)]).toEqual(["other-store", null]);
    expect(owners).toEqual(["ours", "next"]);
  });
});
