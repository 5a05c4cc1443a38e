import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { Fault, type FaultCode } from "@rouse/contract";
import { claimWhenFree, ourClaim } from "./claim-name.ts";
import { findCommand } from "./find-command.ts";
import { holderFiles } from "./protocol/holder-files.ts";
import type { HolderFile, Spec } from "./protocol/spec.ts";
import { writeWhole } from "./write-whole.ts";

/** What a new holder writes to its pipe, once. */
export type FirstWord = { readonly ready: HolderFile } | { readonly code: FaultCode; readonly message: string };

export interface StartOptions {
  /** The bundle to run; the one beside ours when not set. */
  readonly holderFile?: URL;
}

/** Long: a busy machine is slow, and an agent has only three starts. A holder that ends is noticed at once. */
const readyWithinMs = 60_000;
/** A holder mostly waits: it needs little room for young objects. */
const flags = ["--max-semi-space-size=1"];
/** What a holder itself needs. It must not inherit the agent's environment, nor another agent's mark. */
const inherited = ["PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL"];

/** Starts an agent with a holder of its own, which outlives this process. */
export async function startHolder(home: string, spec: Spec, options: StartOptions = {}): Promise<HolderFile> {
  findCommand(spec.command[0] ?? "", spec.cwd, spec.env);
  const files = holderFiles(home, spec.agentId);
  const claim = await claimWhenFree(home, ourClaim(spec));
  try {
    writeWhole(files.spec, JSON.stringify(spec));
    const bundle = fileURLToPath(options.holderFile ?? new URL("./holder.js", import.meta.url));
    return await listen(launch(bundle, files.folder), spec.agentId);
  } finally {
    claim.release(); // no longer ours once the holder has it
  }
}

/** The holder gets a session of its own, so that whatever ends this process or its terminal does not end the holder. */
function launch(bundle: string, folder: string): ChildProcess {
  const env: NodeJS.ProcessEnv = Object.fromEntries(
    inherited.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  // Otherwise each of Node's threads keeps a heap of its own, 1.4 MB in all. The agent does not inherit this.
  env["MALLOC_ARENA_MAX"] = "1";
  return spawn(process.execPath, [...flags, bundle, folder], {
    cwd: "/",
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "pipe"],
    env,
  });
}

function listen(child: ChildProcess, agentId: string): Promise<HolderFile> {
  const pipe = child.stdio[3] as Readable;
  return new Promise((resolve, reject) => {
    let heard = "";
    const settle = (act: () => void): void => {
      clearTimeout(patience);
      pipe.destroy();
      child.unref();
      act();
    };
    const fail = (problem: string): void =>
      settle(() => reject(new Fault("internal", `the holder of ${agentId} ${problem}; see its holder.log`)));
    const patience = setTimeout(() => {
      child.kill("SIGKILL");
      fail(`was not ready within ${readyWithinMs / 1000} s`);
    }, readyWithinMs);
    child.on("error", (error) => fail(`could not be started (${error.message})`));
    pipe.on("error", () => {});
    pipe.on("data", (chunk: Buffer) => {
      heard += chunk.toString("utf8");
      if (!heard.includes("\n")) return;
      const word = JSON.parse(heard) as FirstWord;
      settle(() => ("ready" in word ? resolve(word.ready) : reject(new Fault(word.code, word.message))));
    });
    pipe.on("end", () => fail("ended before it was ready"));
  });
}
