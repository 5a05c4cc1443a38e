import { closeSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { verifyAudit } from "../../../audit/verify-audit.ts";
import {
  askForLines,
  askForTrail,
  gatherTrail,
  linesPerPage,
  noAuditHands,
  type OpenAuditHands,
  printTrail,
  readAnchors,
  readText,
  readTrail,
} from "../../audit-trail.ts";
import { exit } from "../../exit-codes.ts";
import { fingerprintOf, showLines, showVerdict } from "../../show/audit.ts";
import { cannotWrite, openPrivateFile } from "../../surroundings.ts";
import { type AddCommand, given, type Json, jsonOption, readWhole, tell } from "../add-command.ts";

export const addAudit =
  (openHands: OpenAuditHands = noAuditHands): AddCommand =>
  (program, here, finish) => {
    const audit = program.command("audit").description("every intervention, refusal and manual action, and who did it");
    for (const add of [addList, addVerify(openHands), addExport]) add(audit, here, finish);
  };

interface ListOptions extends Json {
  readonly agent?: string;
  readonly limit?: number;
}

const addList: AddCommand = (audit, here) => {
  audit
    .command("list")
    .description("the newest lines, the newest last")
    .option("--agent <id>", "only lines about this agent")
    .option("--limit <n>", "at most so many (default: 100)", readWhole(1, linesPerPage))
    .option("--json", "print one JSON document, evidence included")
    .action(async ({ agent, limit, ...options }: ListOptions) => {
      const entries = await askForLines(here, given({ agentId: agent, limit }));
      tell(here, options, { entries }, () => showLines(entries, agent, here.width));
    });
};

interface VerifyOptions extends Json {
  readonly file?: string;
  readonly key?: string;
  readonly anchor?: readonly string[];
}

const verifyHelp = `
Finds lines that were changed, left out, moved or put in, and says what it
cannot show. Exits with 1 when there is a problem. Without a running Rouse it
reads the database in ROUSE_HOME. Anchors are file:PATH or git:REPOSITORY#REF;
those of audit.anchor are compared anyway, except with an export. An export
brings its own public key along: whoever wants to know whose trail it is
compares the fingerprint, or names the key with --key.`;

const collect = (one: string, all: readonly string[] = []): readonly string[] => [...all, one];

const addVerify =
  (openHands: OpenAuditHands): AddCommand =>
  (audit, here, finish) => {
    audit
      .command("verify")
      .description("check that the trail is as it was written, and say what that cannot show")
      .option("--file <export>", "an exported file instead of the trail in ROUSE_HOME")
      .option("--key <file>", "trust this public key only (audit-key.pub.pem)")
      .option("--anchor <place>", "compare with the seals kept there, too", collect)
      .option(...jsonOption)
      .addHelpText("after", verifyHelp)
      .action(async ({ file, key, anchor: named = [], ...options }: VerifyOptions) => {
        const inFolder = (name: string) => resolve(here.workingFolder, name);
        const trail = file === undefined ? await gatherTrail(here, openHands) : readTrail(inFolder(file));
        const publicKey = key === undefined ? trail.publicKey : readText(inFolder(key));
        const anchors = await readAnchors(here, trail.anchors, named, openHands);
        const verdict = verifyAudit(trail.lines, publicKey, trail, anchors);
        tell(here, options, { ...verdict, key: fingerprintOf(publicKey) }, () =>
          showVerdict(verdict, publicKey, here.width),
        );
        finish(verdict.sound ? exit.fine : exit.wrong);
      });
  };

interface ExportOptions {
  readonly output?: string;
  readonly force?: true;
}

const addExport: AddCommand = (audit, here) => {
  audit
    .command("export")
    .description("the whole trail, one JSON object per line")
    .option("-o, --output <file>", "write to a file instead of the terminal")
    .option("--force", "overwrite the file")
    .action(async ({ output, force }: ExportOptions) => {
      const text = printTrail(await askForTrail(here));
      if (output === undefined) return here.printText(text);
      const path = resolve(here.workingFolder, output);
      const file = openPrivateFile(path, force === true);
      try {
        writeFileSync(file, text);
      } catch (error) {
        throw cannotWrite(path, error);
      } finally {
        closeSync(file);
      }
    });
};
