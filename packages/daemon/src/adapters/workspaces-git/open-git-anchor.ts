import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { type AuditSeal, type DurationMs, printable, seconds } from "@rouse/contract";
import type { Anchor } from "../../ports/anchors.ts";
import { readConfig } from "./find-repository.ts";
import { atEachNul, commitAs, demand, type GitAnswer, type GitCall, runGit } from "./run-git.ts";

export interface GitAnchorPlace {
  /** A work tree or a bare repository. */
  readonly repository: string;
  readonly ref: string;
  /** The data folder: a relative path is meant below it. */
  readonly folder: string;
}

const longestTry: DurationMs = seconds(20);
/** Not `git log`: a repository can make that run a program to check signatures. */
const messages = ["rev-list", "--no-commit-header", "--format=tformat:%B%x00"];

/**
 * One commit without files per seal, on a ref of its own. Work tree, index and branches are not looked at, and no
 * program that the repository names is run.
 */
export function openGitAnchor({ repository, ref, folder }: GitAnchorPlace): Anchor {
  const place = resolve(folder, repository);

  async function begin() {
    const git = { program: "git", deadline: AbortSignal.timeout(longestTry) };
    const { output } = await demand(git, ["rev-parse", "--absolute-git-dir"], { cwd: place });
    const gitDir = await realpath(output.toString("utf8").replace(/\n$/, ""));
    const { withoutHooks } = await readConfig(git, { cwd: gitDir, environment: { GIT_DIR: gitDir } });
    const environment = { GIT_DIR: gitDir, ...withoutHooks };
    return {
      ask: (words: readonly string[], more: Partial<GitCall> = {}): Promise<GitAnswer> =>
        demand(git, words, { cwd: gitDir, ...more, environment: { ...environment, ...more.environment } }),
      /** The newest seal's commit; `null` before the first seal. */
      async tip(): Promise<string | null> {
        const answer = await runGit(git, ["rev-parse", "--verify", "--quiet", ref], { cwd: gitDir, environment });
        return answer.status === 0 ? answer.output.toString("utf8").trim() : null;
      },
    };
  }

  async function add(seal: AuditSeal): Promise<void> {
    const { ask, tip } = await begin();
    const text = JSON.stringify(seal);
    const parent = await tip();
    if (parent !== null && textOf(await ask([...messages, "-1", parent])) === text) return;
    const tree = textOf(await ask(["mktree"]));
    const parents = parent === null ? [] : ["-p", parent];
    const commit = textOf(
      await ask(["commit-tree", tree, ...parents], { input: `${text}\n`, environment: commitAs(seal.time) }),
    );
    // Git refuses when somebody else has moved the ref meanwhile.
    const order = parent === null ? `create ${ref} ${commit}\n` : `update ${ref} ${commit} ${parent}\n`;
    await ask(["update-ref", "--no-deref", "--stdin"], { input: order });
  }

  return {
    place: (seal) => add(seal).catch(tellWhere),
    read: () => readAll().catch(tellWhere),
  };

  async function readAll(): Promise<unknown[]> {
    const { ask, tip } = await begin();
    const parent = await tip();
    const found: unknown[] = [];
    if (parent === null) return found;
    const take = (record: Buffer): void => void found.push(parse(record.toString("utf8")));
    await ask([...messages, "--reverse", parent], { onOutput: atEachNul(take) });
    return found;
  }

  function tellWhere(error: Error): never {
    throw new Error(`${printable(place)}: ${error.message}`);
  }
}

const textOf = ({ output }: GitAnswer): string => output.toString("utf8").replaceAll("\0", "").trim();

/** Each message begins after the line break of the one before. */
function parse(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch {
    return null;
  }
}
