import { basename, posix } from "node:path";

/** A source file: its path from the repository's root, with forward slashes, and what is in it. */
export type SourceFile = { path: string; text: string };

/** A rule looks at files and returns one sentence per offence: "<path> <what it does>". */
export type Rule = (files: readonly SourceFile[]) => string[];

/** What is done about one agent, in order; then about many at once. */
const STAGES = ["accept", "assess", "decide", "intervene", "recover", "fleet"];
const CORE = "packages/core/src/";
const DAEMON = "packages/daemon/src/";
const HOLDER = "packages/holder/src/";
/** What a holder may import. Schemas are not among it: they would be a quarter of a holder's memory. */
const NEEDED_BY_HOLDER = [
  ...["@rouse/contract", "@rouse/core", "packages/holder/package.json"],
  ...["@lydell/node-pty", "@xterm/addon-serialize", "@xterm/headless", "re2js", "ws"],
];
const HOLDER_ENTRIES = ["", "/load-sqlite", "/run-in-foreground", "/start-holder"].map(
  (name) => `@rouse/holder${name}`,
);
const ADAPTERS = `${DAEMON}adapters/`;
/** The one file that knows which drivers of SQLite there are. */
const SQLITE = `${HOLDER}load-sqlite.ts`;
const isSqlite = (target: string) => target === SQLITE || target === "@rouse/holder/load-sqlite";
const SQLITE_DRIVERS = ["node:sqlite", "@photostructure/sqlite", "better-sqlite3"];
const OPENCODE_DATABASE = `${HOLDER}program/read-opencode-database.ts`;

export const contractImportsOnlyZodAndItself: Rule = (files) =>
  foreignImports(shippedUnder(files, "packages/contract/src/"), "packages/contract/src/", ["zod"]);

export const coreImportsOnlyTheContractAndItself: Rule = (files) =>
  foreignImports(shippedUnder(files, CORE), CORE, ["@rouse/contract"]);

export const sdkImportsOnlyTheContractAndItself: Rule = (files) =>
  foreignImports(shippedUnder(files, "packages/sdk/src/"), "packages/sdk/src/", ["@rouse/contract"]);

export const holderImportsOnlyWhatItNeeds: Rule = (files) =>
  foreignImports(
    shippedUnder(files, HOLDER).filter(({ path }) => path !== SQLITE),
    HOLDER,
    NEEDED_BY_HOLDER,
  ).filter((offence) => !offence.includes(" imports node:"));

/** Tests as well: one that needs both lies beside the daemon's code. */
export const holderNeverImportsTheDaemon: Rule = (files) =>
  offences(
    files.filter(({ path }) => path.startsWith(HOLDER)),
    (file) =>
      importsOf(file)
        .filter((target) => target.startsWith(DAEMON) || /^rouse(?:\/|$)/.test(target))
        .map((target) => `imports ${target}`),
  );

export const holderIsEnteredByItsEntries: Rule = (files) =>
  offences(shippedUnder(files, DAEMON), (file) =>
    importsOf(file)
      .filter((target) => target.startsWith("packages/holder/") || /^@rouse\/holder(?:\/|$)/.test(target))
      .filter((target) => !HOLDER_ENTRIES.includes(target))
      .map((target) => `imports ${target}`),
  );

export const coreTouchesNoClockNoChanceAndNoOutsideWorld: Rule = (files) =>
  offences(shippedUnder(files, CORE), (file) =>
    uses(codeOf(file.text), [/\bDate\s*\./, /\bnew\s+Date\b/, ...OUTSIDE_WORLD]),
  );

/** The contract converts points in time it is given, so `Date` with an argument is fine; reading the clock is not. */
export const contractTouchesNoClockNoChanceAndNoOutsideWorld: Rule = (files) =>
  offences(shippedUnder(files, "packages/contract/src/"), (file) =>
    uses(codeOf(file.text), [/\bDate\s*\.\s*now\b/, /\bnew\s+Date\s*(?!\s*\(\s*[^\s)])/, ...OUTSIDE_WORLD]),
  );

const OUTSIDE_WORLD = [
  /\bMath\s*\.\s*random\b/,
  /(?<![.\w$])(?:setTimeout|setInterval|setImmediate|queueMicrotask|fetch)\s*\(/,
  /(?<![.\w$])(?:performance|process|console|crypto|globalThis)\s*(?:\?\.|[.[])/,
];

/** These call the stages, or show them to others. */
const CALLERS = ["supervise.ts", "climb-ladder.ts", "index.ts"].map((name) => `${CORE}${name}`);
export const coreStagesUseOnlyEarlierStages: Rule = (files) =>
  offences(shippedUnder(files, CORE), (file) => {
    if (CALLERS.includes(file.path)) return [];
    return importsOf(file)
      .filter((target) => stageOf(target) > stageOf(file.path))
      .map((target) => `imports ${target}, a later stage`);
  });

export const noAdapterImportsAnother: Rule = (files) =>
  offences(shippedUnder(files, ADAPTERS), (file) =>
    importsOf(file)
      .filter((target) => target.startsWith(ADAPTERS) && adapterOf(target) !== adapterOf(file.path))
      .map((target) => `imports ${target}`),
  );

export const onlyTheCompositionRootNamesAdapters: Rule = (files) =>
  offences(shippedUnder(files, DAEMON), (file) => {
    if ([`${DAEMON}main.ts`, `${DAEMON}open-rouse.ts`].includes(file.path) || file.path.startsWith(ADAPTERS)) return [];
    return importsOf(file)
      .filter((target) => target.startsWith(ADAPTERS))
      .map((target) => `imports ${target}`);
  });

export const httpAndCliHoldNoSql: Rule = (files) =>
  offences([...shippedUnder(files, `${DAEMON}api/`), ...shippedUnder(files, `${DAEMON}cli/`)], (file) => [
    ...importsOf(file)
      .filter((target) => isSqlite(target) || SQLITE_DRIVERS.includes(target))
      .map((target) => `imports ${target}`),
    ...uses(file.text, [
      /\bSELECT\s[^;]*?\sFROM\b/,
      /\bINSERT\s+(?:OR\s+\w+\s+)?INTO\b/,
      /\bUPDATE\s+\w+\s+SET\b/,
      /\bDELETE\s+FROM\b/,
      /\bCREATE\s+(?:TABLE|INDEX)\b/,
      /\bPRAGMA\s/,
      /\.prepare\(/,
    ]),
  ]);

export const sqliteIsKnownOnlyToItsAdapters: Rule = (files) =>
  offences(shippedUnder(files, "packages/"), (file) =>
    // The second reads another program's database.
    ["store-sqlite", "lock-sqlite"].includes(adapterOf(file.path) ?? "") || file.path === OPENCODE_DATABASE
      ? []
      : importsOf(file)
          .filter(isSqlite)
          .map((target) => `imports ${target}`),
  );

/** Tests as well: a driver that a test imports directly is not there on every Node. */
export const driversOfSqliteAreKnownOnlyToTheirLoader: Rule = (files) =>
  offences(files, (file) =>
    file.path === SQLITE
      ? []
      : importsOf(file)
          .filter((target) => SQLITE_DRIVERS.includes(target))
          .map((target) => `imports ${target}`),
  );

/** A reader finds their way by folders and files: these are kept small. */
const KEPT_SMALL = ["packages/", "sim/", "bench/", "e2e/"];
const mostFiles = 25;
const mostLines = 400;

/** A conformance suite is a test. */
const keptSmall = (files: readonly SourceFile[]) =>
  KEPT_SMALL.flatMap((folder) => shippedUnder(files, folder)).filter(({ path }) => !path.endsWith(".conformance.ts"));

export const noFolderIsCrowded: Rule = (files) => {
  const counts = new Map<string, number>();
  for (const { path } of keptSmall(files)) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > mostFiles)
    .map(([folder, count]) => `${folder} has ${count} source files`);
};

export const noFileIsLong: Rule = (files) =>
  offences(keptSmall(files), ({ text }) => {
    const lines = text.trimEnd().split("\n").length;
    return lines > mostLines ? [`has ${lines} lines`] : [];
  });

/** Imports of types count as well. */
export const noFileImportsItselfThroughOthers: Rule = (files) => {
  const imports = new Map(keptSmall(files).map((file) => [file.path, importsOf(file)]));
  const leadsTo = (from: string): Set<string> => {
    const reached = new Set<string>();
    const open = [...(imports.get(from) ?? [])];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (reached.has(path)) continue;
      reached.add(path);
      open.push(...(imports.get(path) ?? []));
    }
    return reached;
  };
  return [...imports.keys()].filter((path) => leadsTo(path).has(path)).map((path) => `${path} imports itself`);
};

export const filesAreNamedAfterWhatTheyDo: Rule = (files) =>
  offences(files, (file) =>
    /^(?:.*-)?(?:utils?|helpers?|managers?)\.|^types\./.test(basename(file.path))
      ? ["is named after nothing it does"]
      : [],
  );

export const noTestIsLeftOutOrAlone: Rule = (files) =>
  offences(
    files.filter((file) => isTest(file.path)),
    (file) => uses(codeOf(file.text), [/\.(?:only|skip|todo)\s*\(/, /\.(?:only|skip|todo)\s*\.\s*each\b/]),
  );

export const nothingIsPutOffInAComment: Rule = (files) =>
  offences(files, (file) => uses(file.text, [/\b(?:TODO|FIXME|XXX)\b/]));

/**
 * What a file imports: relative paths resolved to paths from the root, packages by their specifier.
 * Anchored to the start of a line, where the formatter puts import and export, so that prose does not count.
 */
export function importsOf({ path, text }: SourceFile): string[] {
  const patterns = [
    /^\s*(?:import|export)\b[^;"'`]*?\bfrom\s*["']([^"']+)["']/gm,
    /^\s*import\s*["']([^"']+)["']/gm,
    /\b(?:import|require|getBuiltinModule)\s*\(\s*["'`]([^"'`]+)["'`]/g,
  ];
  const specifiers = patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? ""));
  return specifiers.map((specifier) =>
    specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : specifier,
  );
}

/** The text without comments, strings and regular expressions; of a template only what it computes is kept. */
export function codeOf(text: string): string {
  const comment = String.raw`\/\/[^\n]*|\/\*[\s\S]*?\*\/`;
  const quoted = String.raw`"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`;
  const regex = String.raw`(?<=(?:[(=,:[!&|?{};]|=>|\breturn)\s*)\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*`;
  const template = String.raw`\x60(?:\\[\s\S]|[^\x60\\])*\x60`;
  return text.replace(new RegExp([comment, regex, quoted, template].join("|"), "g"), (found) => {
    if (!found.startsWith("`")) return found.startsWith("/") ? " " : '""';
    return [...found.matchAll(/\$\{([^}]*)\}/g)].map((match) => `(${match[1]})`).join(" ") || '""';
  });
}

function foreignImports(files: readonly SourceFile[], home: string, allowed: readonly string[]): string[] {
  return offences(files, (file) =>
    importsOf(file)
      .filter((target) => !target.startsWith(home))
      .filter((target) => !allowed.some((name) => target === name || target.startsWith(`${name}/`)))
      .map((target) => `imports ${target}`),
  );
}

function offences(files: readonly SourceFile[], judge: (file: SourceFile) => string[]): string[] {
  return files.flatMap((file) => judge(file).map((offence) => `${file.path} ${offence}`));
}

function uses(text: string, patterns: readonly RegExp[]): string[] {
  return patterns.flatMap((pattern) => {
    const found = pattern.exec(text);
    return found === null ? [] : [`contains "${found[0].trim().replaceAll(/\s+/g, " ")}"`];
  });
}

/** Code that tests share is not shipped. */
const isTest = (path: string) => /\.test(?:-support)?\.ts$/.test(path);

const shippedUnder = (files: readonly SourceFile[], folder: string) =>
  files.filter(({ path }) => path.startsWith(folder) && !isTest(path));

/** -1 for files outside the stages, which all of them share. */
const stageOf = (path: string) =>
  path.startsWith(CORE) ? STAGES.indexOf(path.slice(CORE.length).split("/")[0] ?? "") : -1;

const adapterOf = (path: string) => (path.startsWith(ADAPTERS) ? path.slice(ADAPTERS.length).split("/")[0] : undefined);
