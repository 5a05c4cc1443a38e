import { type Aim, type Line, line, median } from "../report.ts";

/** One way of doing the same thing. A call that is meant to fail is caught by whoever gives it. */
export interface Side {
  readonly name: string;
  call(): Promise<unknown>;
}

const rounds = 9;
const atOnce = 500;

/** Nanoseconds a call, for each side and round; the sides take turns, and who begins does, too. */
export async function timeInTurn(sides: readonly Side[], milliseconds: number): Promise<ReadonlyMap<string, number[]>> {
  const times = new Map<string, number[]>(sides.map(({ name }) => [name, []]));
  for (const side of sides) await timeOne(side, milliseconds);
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < sides.length; turn++) {
      const side = sides[(round + turn) % sides.length] as Side;
      times.get(side.name)?.push(await timeOne(side, milliseconds));
    }
  }
  return times;
}

async function timeOne({ call }: Side, milliseconds: number): Promise<number> {
  const begin = performance.now();
  let calls = 0;
  let passed = 0;
  while (passed < milliseconds) {
    for (let i = 0; i < atOnce; i++) await call();
    calls += atOnce;
    passed = performance.now() - begin;
  }
  return (passed * 1e6) / calls;
}

/** The first side beside each of the others. */
export function besideOthers(
  what: string,
  times: ReadonlyMap<string, number[]>,
  aims: Readonly<Record<string, Aim>>,
): Line[] {
  const [[, ours = []] = [], ...others] = [...times];
  return others.map(([name, theirs]) =>
    line(`${what}, beside ${name}`, "ns", median(ours), {
      peer: median(theirs),
      ratio: median(ours.map((time, round) => time / (theirs[round] ?? time))),
      aim: aims[name] ?? null,
    }),
  );
}
