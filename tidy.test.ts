import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { describe, expect, it } from "vitest";
import type { Rule, SourceFile } from "./scripts/tidy-rules.ts";
import * as rules from "./scripts/tidy-rules.ts";

// Every rule is shown an offence first: a rule that cannot fail would keep nothing.

const sources = ["packages", "sim", "e2e", "bench", "examples", "scripts"].flatMap(sourceFilesUnder);

/** Expects the rule to catch each offence by itself, to let the innocent pass, and to find nothing in the repository. */
function keeps(
  rule: Rule,
  { catches, allows }: { catches: Record<string, string[]>; allows: Record<string, string[]> },
) {
  for (const file of samples(catches)) expect(rule([file]), `${file.path}: ${file.text}`).toHaveLength(1);
  for (const file of samples(allows)) expect(rule([file]), `${file.path}: ${file.text}`).toEqual([]);
  expect(rule(sources)).toEqual([]);
}

describe("packages", () => {
  it("contract imports only zod and itself", () => {
    keeps(rules.contractImportsOnlyZodAndItself, {
      catches: {
        "packages/contract/src/beat.ts": [
          'import { readFile } from "node:fs";',
          'import type {\n  Turn,\n} from "@rouse/core";',
          'export * from "../../core/src/index.ts";',
          'import "pino";',
          'const load = () => import("yaml");',
        ],
      },
      allows: {
        "packages/contract/src/beat.ts": ['import { z } from "zod";', 'import { Fault } from "./fault.ts";'],
        "packages/contract/src/beat.test.ts": ['import { it } from "vitest";'],
      },
    });
  });

  it("core imports only the contract and itself", () => {
    keeps(rules.coreImportsOnlyTheContractAndItself, {
      catches: { "packages/core/src/doubt.ts": ['import { z } from "zod";', 'import { hash } from "node:crypto";'] },
      allows: { "packages/core/src/doubt.ts": ['import type { Beat } from "@rouse/contract";\nimport "./record.ts";'] },
    });
  });

  it("core reads no clock, rolls no dice and touches nothing outside", () => {
    keeps(rules.coreTouchesNoClockNoChanceAndNoOutsideWorld, {
      catches: {
        "packages/core/src/doubt.ts": [
          "const now = Date.now();",
          "const now = new Date();",
          "const at = new Date(beat.at);",
          "const at = Date.parse(text);",
          "const chance = Math.random();",
          "setTimeout(wake, 10);",
          "setInterval(wake, 10);",
          "setImmediate(wake);",
          "const t = performance.now();",
          "if (process.env.DEBUG) report();",
          "console.log(1);",
          "await fetch(url);",
          "const id = crypto.randomUUID();",
          "globalThis['proc' + 'ess'].exit();",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
          "const text = `it is ${Date.now()} now`;",
          "const quote = /[\"'`]/; const now = Date.now(); const other = /[\"'`]/;",
        ],
      },
      allows: {
        "packages/core/src/doubt.ts": [
          "// Date.now() would make a replay differ",
          '/* no setTimeout(…) here */ const reason = "process. console. fetch(";',
          "type Facts = { process?: string; fetch: number };",
          "const restarted = actions.process.restart(agent.fetch());",
        ],
        "packages/core/src/doubt.test.ts": ["const now = Date.now();"],
      },
    });
  });

  it("contract reads no clock either, but may convert a time it is given", () => {
    keeps(rules.contractTouchesNoClockNoChanceAndNoOutsideWorld, {
      catches: { "packages/contract/src/time.ts": ["Date.now();", "new Date();", "new Date;", "Math.random();"] },
      allows: { "packages/contract/src/time.ts": ["new Date(at).toISOString();", "Date.parse(text);"] },
    });
  });

  it("sdk imports only the contract and itself", () => {
    keeps(rules.sdkImportsOnlyTheContractAndItself, {
      catches: { "packages/sdk/src/index.ts": ['import { z } from "zod";', 'import { step } from "@rouse/core";'] },
      allows: { "packages/sdk/src/index.ts": ['export { Beat } from "@rouse/contract";'] },
    });
  });
});

describe("holder", () => {
  it("imports only what it needs", () => {
    keeps(rules.holderImportsOnlyWhatItNeeds, {
      catches: {
        "packages/holder/src/hold.ts": [
          'import { z } from "zod";',
          'import fastify from "fastify";',
          'import { connectRouse } from "@rouse/sdk";',
          'import { connectHolder } from "../../daemon/src/holders/connect-holder.ts";',
        ],
      },
      allows: {
        "packages/holder/src/hold.ts": [
          'import { spawn } from "node:child_process";\nimport type { HolderInfo } from "@rouse/contract";',
          'import { readScreen } from "@rouse/core";\nimport "./terminal/tend-terminal.ts";',
        ],
        "packages/holder/src/hold.test.ts": ['import { z } from "zod";'],
      },
    });
  });

  it("never imports the daemon, nor do its tests", () => {
    keeps(rules.holderNeverImportsTheDaemon, {
      catches: {
        "packages/holder/src/hold.ts": ['import { openRouse } from "rouse";'],
        "packages/holder/src/hold.test.ts": ['import { startAgain } from "../../daemon/src/holders/start-again.ts";'],
      },
      allows: { "packages/holder/src/hold.test.ts": ['import { mountDisk } from "../../../e2e/mount-disk.ts";'] },
    });
  });

  it("is entered by its entries", () => {
    keeps(rules.holderIsEnteredByItsEntries, {
      catches: {
        "packages/daemon/src/cli/logs.ts": [
          'import { readOutput } from "../../../holder/src/output/read-output.ts";',
          'import { readOutput } from "@rouse/holder/output/read-output";',
        ],
      },
      allows: {
        "packages/daemon/src/cli/spawn.ts": [
          'import { readOutput } from "@rouse/holder";',
          'const { startHolder } = await import("@rouse/holder/start-holder");',
        ],
        "packages/daemon/src/cli/logs.test.ts": ['import "../../../holder/src/output/output-ring.ts";'],
      },
    });
  });
});

describe("core", () => {
  it("a stage uses only itself, earlier stages and the words all stages share", () => {
    keeps(rules.coreStagesUseOnlyEarlierStages, {
      catches: {
        "packages/core/src/assess/silence.ts": ['import { chooseRung } from "../decide/choose-rung.ts";'],
        "packages/core/src/record.ts": ['import type { Breaker } from "./decide/breaker.ts";'],
      },
      allows: {
        "packages/core/src/recover/backoff.ts": [
          'import { order } from "../accept/order.ts";',
          'import { chain } from "./chain.ts";',
          'import type { Record } from "../record.ts";',
        ],
        "packages/core/src/supervise.ts": ['import { backoff } from "./recover/backoff.ts";'],
        "packages/core/src/index.ts": ['export { backoff } from "./recover/backoff.ts";'],
      },
    });
  });
});

describe("daemon", () => {
  it("an adapter never knows another", () => {
    keeps(rules.noAdapterImportsAnother, {
      catches: {
        "packages/daemon/src/adapters/store-sqlite/open.ts": ['import { m } from "../store-memory/open.ts";'],
      },
      allows: { "packages/daemon/src/adapters/store-sqlite/open.ts": ['import { m } from "./deep/migrate.ts";'] },
    });
  });

  it("only main.ts and open-rouse.ts name adapters", () => {
    keeps(rules.onlyTheCompositionRootNamesAdapters, {
      catches: { "packages/daemon/src/cli/up.ts": ['import { open } from "../adapters/store-sqlite/open.ts";'] },
      allows: {
        "packages/daemon/src/main.ts": ['import { open } from "./adapters/store-sqlite/open.ts";'],
        "packages/daemon/src/open-rouse.ts": ['import { open } from "./adapters/store-sqlite/open.ts";'],
        "packages/daemon/src/cli/up.test.ts": ['import { open } from "../adapters/store-sqlite/open.ts";'],
      },
    });
  });

  it("HTTP and CLI hold no SQL", () => {
    keeps(rules.httpAndCliHoldNoSql, {
      catches: {
        "packages/daemon/src/api/routes.ts": [
          "const sql = `SELECT *\nFROM agents`;",
          'import { DatabaseSync } from "@rouse/holder/load-sqlite";',
          'import D from "node:sqlite";',
        ],
        "packages/daemon/src/cli/list.ts": ['run("DELETE FROM agents");', "database.prepare(text);"],
      },
      allows: { "packages/daemon/src/cli/list.ts": ['describe("select an agent from the list and update it");'] },
    });
  });

  it("only its own adapters know SQLite", () => {
    keeps(rules.sqliteIsKnownOnlyToItsAdapters, {
      catches: {
        "packages/daemon/src/main.ts": ['import { DatabaseSync } from "@rouse/holder/load-sqlite";'],
        "packages/holder/src/hold.ts": ['import { DatabaseSync } from "./load-sqlite.ts";'],
        "packages/daemon/src/adapters/store-memory/open.ts": [
          'import type { DatabaseSync } from "@rouse/holder/load-sqlite";',
        ],
      },
      allows: {
        "packages/daemon/src/adapters/store-sqlite/worker.ts": [
          'import { DatabaseSync } from "@rouse/holder/load-sqlite";',
        ],
        "packages/daemon/src/adapters/lock-sqlite/open.ts": [
          'import { DatabaseSync } from "@rouse/holder/load-sqlite";',
        ],
        "packages/holder/src/program/read-opencode-database.ts": ['import { DatabaseSync } from "../load-sqlite.ts";'],
      },
    });
  });

  it("only one file knows which drivers for SQLite there are", () => {
    keeps(rules.driversOfSqliteAreKnownOnlyToTheirLoader, {
      catches: {
        "packages/daemon/src/adapters/store-sqlite/worker.ts": ['import { DatabaseSync } from "node:sqlite";'],
        "packages/daemon/src/adapters/store-sqlite/a.test.ts": ['import Database from "better-sqlite3";'],
        "e2e/a.test.ts": ['require("@photostructure/sqlite");'],
        "bench/a.ts": ['process.getBuiltinModule("node:sqlite");'],
      },
      allows: { "packages/holder/src/load-sqlite.ts": ['require("@photostructure/sqlite");'] },
    });
  });
});

describe("every source file", () => {
  it("is looked at", () => {
    expect(sources.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["packages/contract/src/index.ts", "packages/core/src/index.ts", "scripts/start.mjs"]),
    );
  });

  it("is named after what it does", () => {
    keeps(rules.filesAreNamedAfterWhatTheyDo, {
      catches: { "sim/utils.ts": [""], "packages/core/src/types.ts": [""], "packages/sdk/src/retry-helpers.ts": [""] },
      allows: { "packages/core/src/decide/choose-rung.ts": [""] },
    });
  });

  it("has no test that is left out or runs alone", () => {
    keeps(rules.noTestIsLeftOutOrAlone, {
      catches: {
        "sim/a.test.ts": ['it.only("x", f);', 'describe.skip("x", f);', 'it.todo("x");', "it.skip.each([1]);"],
      },
      allows: { "sim/a.test.ts": ['it.skipIf(!shared)("x", f);', 'it("says .only( in a string", f);'] },
    });
  });

  it("puts nothing off in a comment", () => {
    keeps(rules.nothingIsPutOffInAComment, {
      catches: { "sim/a.ts": ["// TODO later", "/* FIXME */"] },
      allows: { "sim/a.ts": ["// the todo list of an agent"] },
    });
  });
});

describe("a reader finds their way", () => {
  it("no file is over 400 lines", () => {
    const tooLong = ["line\n".repeat(401)];
    keeps(rules.noFileIsLong, {
      catches: { "packages/holder/src/hold.ts": tooLong, "sim/main.ts": tooLong, "e2e/until.ts": tooLong },
      allows: {
        "packages/holder/src/hold.ts": ["line\n".repeat(400)],
        "packages/holder/src/hold.test.ts": tooLong,
        "packages/daemon/src/ports/store.conformance.ts": tooLong,
      },
    });
  });

  it("no folder has over 25 source files", () => {
    const folder = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ path: `packages/holder/src/watch/${n}.ts`, text: "" }));
    expect(rules.noFolderIsCrowded(folder(26))).toHaveLength(1);
    expect(rules.noFolderIsCrowded(folder(25))).toEqual([]);
    expect(rules.noFolderIsCrowded(sources)).toEqual([]);
  });

  it("no imports go round in a circle", () => {
    const imports = (name: string, other: string) => ({
      path: `packages/holder/src/${name}.ts`,
      text: `import type { X } from "./${other}.ts";`,
    });
    const chain = [imports("a", "b"), imports("b", "c")];
    expect(rules.noFileImportsItselfThroughOthers([...chain, imports("c", "a")])).toHaveLength(3);
    expect(rules.noFileImportsItselfThroughOthers(chain)).toEqual([]);
    expect(rules.noFileImportsItselfThroughOthers(sources)).toEqual([]);
  });
});

function samples(byPath: Record<string, string[]>): SourceFile[] {
  return Object.entries(byPath).flatMap(([path, texts]) => texts.map((text) => ({ path, text })));
}

function sourceFilesUnder(folder: string): SourceFile[] {
  const root = import.meta.dirname;
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|mjs|js|py|sh)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/[\\/](?:node_modules|dist)[\\/]/.test(file))
    .map((file) => ({ path: relative(root, file).split(sep).join("/"), text: readFileSync(file, "utf8") }))
    .filter(({ path }) => path !== "scripts/tidy-rules.ts"); // it has to spell out what it forbids
}
