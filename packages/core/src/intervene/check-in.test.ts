import { describe, expect, it } from "vitest";
import { story } from "../story.test-support.ts";

describe("a request to check in", () => {
  it("rides on the first acknowledgement after the monitor was blind, once, and the next beat answers it", () => {
    const agent = story();
    agent.beats();
    agent.monitorIsBlindFor("10s", "suspend");
    expect(agent.beats().commands).toEqual([
      { id: "check-in-1", kind: "check-in", because: "the monitor was blind (suspend)" },
    ]);
    expect(agent.record.life.checkIn).toEqual({ gap: 1, state: "asked" });
    expect(agent.beats().commands).toEqual([]);
    expect(agent.record.life.checkIn).toEqual({ gap: 1, state: "answered" });
    for (let i = 0; i < 10; i++) expect(agent.beats().commands).toEqual([]);
  });

  it("is made again after each gap", () => {
    const agent = story();
    agent.beats();
    const asked: string[] = [];
    for (let i = 0; i < 3; i++) {
      agent.monitorIsBlindFor("3s");
      for (let beat = 0; beat < 4; beat++) asked.push(...agent.beats().commands.map(({ id }) => id));
    }
    expect(asked).toEqual(["check-in-1", "check-in-2", "check-in-3"]);
  });

  it("is made again when the monitor was blind once more before the answer came", () => {
    const agent = story();
    agent.beats();
    agent.monitorIsBlindFor("3s");
    expect(agent.beats().commands).toHaveLength(1);
    agent.monitorIsBlindFor("3s");
    expect(agent.beats().commands.map(({ id }) => id)).toEqual(["check-in-2"]);
  });

  it("is not made of an agent that was born after the gap", () => {
    const agent = story();
    agent.beats();
    agent.monitorIsBlindFor("3s");
    expect(agent.beats({ incarnation: 2, sequenceNumber: 1 }).commands).toEqual([]);
    expect(agent.beats().commands).toEqual([]);
  });

  it("is not made while a person has frozen the monitor, but after the thaw", () => {
    const agent = story();
    agent.beats();
    agent.monitorIsBlindFor("3s");
    agent.monitorDoubts({ frozen: true });
    for (let i = 0; i < 5; i++) expect(agent.beats().commands).toEqual([]);
    expect(agent.record.life.checkIn).toBeNull();
    agent.monitorDoubts({ frozen: false });
    expect(agent.beats().commands).toHaveLength(1);
  });

  it("is not made with a refused beat: nobody knows who would read it", () => {
    const agent = story();
    agent.beats();
    agent.monitorIsBlindFor("3s");
    expect(agent.beats({}, { checksum: "wrong" }).commands).toEqual([]);
    expect(agent.beats().commands).toHaveLength(1);
  });
});
