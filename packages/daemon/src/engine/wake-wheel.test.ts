import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createWakeWheel, type Sleeper } from "./wake-wheel.ts";

const dawn = 1_700_000_000_000;
const slot = 250;

class Person implements Sleeper {
  asked = 0;
  filed = 0;
  private lies: number | null = null;
  readonly name: number;
  at: number | null;
  constructor(name: number, at: number | null) {
    this.name = name;
    this.at = at;
  }
  get slot(): number | null {
    return this.lies;
  }
  set slot(slot: number | null) {
    if (slot !== null) this.filed += 1;
    this.lies = slot;
  }
  wakeAt(): number | null {
    this.asked += 1;
    return this.at;
  }
}

describe("the wake wheel", () => {
  it("wakes who is due, within a quarter of a second, and nobody else", () => {
    const wheel = createWakeWheel<Person>();
    const early = new Person(1, dawn + 1000);
    const late = new Person(2, dawn + 1001);
    wheel.file(early);
    wheel.file(late);
    expect(wheel.takeDue(dawn + 999)).toEqual([]);
    expect(wheel.takeDue(dawn + 1000)).toEqual([early]);
    expect(wheel.takeDue(dawn + 1000)).toEqual([]);
    expect(wheel.takeDue(dawn + 1000 + slot)).toEqual([late]);
  });

  it("forgets who wants nothing, and wakes nobody whose wish has gone", () => {
    const wheel = createWakeWheel<Person>();
    const nobody = new Person(1, null);
    const changedMind = new Person(2, dawn);
    wheel.file(nobody);
    wheel.file(changedMind);
    changedMind.at = null;
    expect(wheel.takeDue(dawn + 60_000)).toEqual([]);
    expect(changedMind.slot).toBeNull();
  });

  it("a deadline that moves away is followed without being filed again", () => {
    const wheel = createWakeWheel<Person>();
    const person = new Person(1, dawn + 1000);
    wheel.file(person);
    person.at = dawn + 9000;
    expect(wheel.takeDue(dawn + 8999)).toEqual([]);
    expect(wheel.takeDue(dawn + 9000)).toEqual([person]);
  });

  it("a deadline that moves nearer is kept when it is filed again, and comes once", () => {
    const wheel = createWakeWheel<Person>();
    const person = new Person(1, dawn + 9000);
    wheel.file(person);
    person.at = dawn + 1000;
    wheel.file(person);
    expect(wheel.takeDue(dawn + 1000)).toEqual([person]);
    person.at = dawn + 9000;
    wheel.file(person);
    expect(wheel.takeDue(dawn + 20_000)).toEqual([person]);
  });

  it("a deadline in the past comes with the next look", () => {
    const wheel = createWakeWheel<Person>();
    wheel.takeDue(dawn);
    const person = new Person(1, dawn - 3_600_000);
    wheel.file(person);
    expect(wheel.takeDue(dawn + slot)).toEqual([person]);
  });

  it("after a long sleep of our own everybody who was due is found at once, earliest first", () => {
    const wheel = createWakeWheel<Person>();
    const people = Array.from({ length: 50 }, (_, i) => new Person(i, dawn + (49 - i) * 60_000));
    for (const person of people) wheel.file(person);
    expect(wheel.takeDue(dawn + 86_400_000)).toEqual(people.toReversed());
  });

  it("agrees with a plain list: nobody is lost, nobody is early, nobody comes late or twice", () => {
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant("file" as const),
          who: fc.nat(19),
          in: fc.integer({ min: -2000, max: 20_000 }),
        }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("move" as const), who: fc.nat(19), by: fc.nat(8000) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("give-up" as const), who: fc.nat(19) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("look" as const), after: fc.nat(6000) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const wheel = createWakeWheel<Person>();
        const people = Array.from({ length: 20 }, (_, i) => new Person(i, null));
        /** The plain list: who wants to be woken, since when they could have been. */
        const wanting = new Map<Person, { at: number; filedAt: number }>();
        let now = dawn;
        const look = (): void => {
          const due = wheel.takeDue(now);
          expect(new Set(due).size).toBe(due.length);
          for (const person of due) {
            const want = wanting.get(person);
            expect(want).toBeDefined();
            expect(want?.at ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(now);
            wanting.delete(person);
            person.at = null;
          }
          for (const [, { at, filedAt }] of wanting) expect(now - Math.max(at, filedAt)).toBeLessThan(2 * slot);
        };
        for (const one of steps) {
          const person = "who" in one ? people[one.who] : undefined;
          if (one.do === "look") {
            now += one.after;
            look();
          } else if (person === undefined) continue;
          else if (one.do === "file") {
            person.at = now + one.in;
            wheel.file(person);
            wanting.set(person, { at: person.at, filedAt: now });
          } else if (one.do === "move" && person.at !== null) {
            person.at = Math.max(person.at, now) + one.by;
            wanting.set(person, { at: person.at, filedAt: now });
          } else if (one.do === "give-up") {
            person.at = null;
            wanting.delete(person);
          }
        }
        now += 60_000;
        look();
        expect(wanting.size).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it("costs what is due, not how many there are: 10 of 100,000 are asked about 10 times", () => {
    const wheel = createWakeWheel<Person>();
    const people = Array.from(
      { length: 100_000 },
      (_, i) => new Person(i, dawn + (i < 10 ? 1000 : 600_000 + (i % 1000))),
    );
    for (const person of people) wheel.file(person);
    wheel.takeDue(dawn);
    for (const person of people) person.asked = 0;
    expect(wheel.takeDue(dawn + 1000)).toHaveLength(10);
    expect(people.reduce((sum, { asked }) => sum + asked, 0)).toBeLessThanOrEqual(20);
  });

  it("a beat that moves a deadline away costs nothing here", () => {
    const wheel = createWakeWheel<Person>();
    const person = new Person(1, dawn + 7000);
    wheel.takeDue(dawn);
    wheel.file(person);
    for (let beat = 1; beat <= 1000; beat++) {
      person.at = dawn + beat + 7000;
      wheel.file(person);
    }
    expect(person.filed).toBe(1);
    person.asked = 0;
    expect(wheel.takeDue(dawn + 7000)).toEqual([]);
    expect(person.asked).toBeLessThanOrEqual(2);
  });
});
