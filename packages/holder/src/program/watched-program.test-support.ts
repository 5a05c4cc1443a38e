import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { HolderReport, Sight } from "@rouse/contract";
import { beforeEach } from "vitest";
import type { Client, World } from "../holding.test-support.ts";
import type { Spec } from "../protocol/spec.ts";
import { freshWorld } from "../world-of-each.test-support.ts";

/** Where a program is started for one test: below a home of its own, by a holder that tells us everything. */
export interface Workplace {
  readonly home: string;
  /** Its working folder, by the name that the kernel has for it. */
  readonly cwd: string;
  files: World["files"];
  start(command: readonly string[], changes?: Partial<Spec>): Promise<Client>;
}

/** One for each test of a file, gone with everybody in it after that. */
export function workplaceOfEach(take: (place: Workplace) => void): void {
  const world = freshWorld();
  beforeEach(() => {
    const cwd = join(realpathSync(world.home), "work");
    mkdirSync(cwd);
    take({ home: world.home, cwd, files: world.files, start });
  });

  async function start(command: readonly string[], { env, ...changes }: Partial<Spec> = {}): Promise<Client> {
    const spec = world.spec(command, { cwd: join(realpathSync(world.home), "work"), ...changes });
    const client = await world.connect(await world.start({ ...spec, env: { ...spec.env, ...env } }));
    client.say({ say: "watch", epoch: 1, after: 0 });
    return client;
  }
}

export const reportsOf = ({ heard }: Client): HolderReport[] =>
  heard.flatMap((message) => (message.say === "report" ? [message.report] : []));

export const sightsOf = (client: Client): Sight[] => reportsOf(client).flatMap(({ sights }) => sights);

export const ofKind = <K extends Sight["kind"]>(client: Client, kind: K) =>
  sightsOf(client).filter((sight): sight is Extract<Sight, { kind: K }> => sight.kind === kind);

export const eyeOf = (client: Client, wanted: string) =>
  reportsOf(client)
    .at(-1)
    ?.eyes?.find(({ eye }) => eye === wanted);

export const familyOf = (client: Client) => reportsOf(client).at(-1)?.family;

/** The monitor has something said to the agent. */
export function nudge(client: Client, text = "FACT: The same call 5 times.", notAfter = Date.now() + 60_000) {
  client.say({
    say: "order",
    key: "n1",
    incarnation: 1,
    epoch: 1,
    order: { kind: "nudge", text, notAfter },
  });
  return client.hear("carried-out", ({ key }) => key === "n1");
}
