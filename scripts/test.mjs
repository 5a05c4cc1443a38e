// npm test [-- vitest arguments]: everything the tests need, then the tests.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { ensureBuilt } from "./ensure-built.mjs";
import { inRepository } from "./repository.mjs";
import { becomeNode, programs } from "./run-program.mjs";

/** Programs that tests run and npm does not install; each is in the Debian package of its name. */
const wanted = ["tmux", "zsh", "fish"];
const patienceMs = 120_000;

await ensureBuilt();
ensureDebian();
if (!existsSync(inRepository("..", "shared"))) {
  console.error("rouse: THE DATA FOLDER ../shared IS ABSENT: tests that need it are SKIPPED, all others run.");
}
becomeNode([programs.vitest, "run", ...process.argv.slice(2)]);

/** Installs missing programs where that is possible (root, apt); otherwise says what will be skipped. */
function ensureDebian() {
  const missing = wanted.filter((name) => !succeeds("sh", ["-c", `command -v ${name}`]));
  if (missing.length === 0) return;
  const install = () => succeeds("apt-get", ["install", "-y", "--no-install-recommends", ...missing]);
  if (process.getuid?.() === 0 && succeeds("apt-get", ["--version"])) {
    console.error(`rouse: installing ${missing.join(", ")} for the tests …`);
    if (install() || (succeeds("apt-get", ["update"]) && install())) return;
  }
  console.error(`rouse: ${missing.join(", ").toUpperCase()} NOT INSTALLED: tests that need it are SKIPPED.`);
}

function succeeds(command, args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  return spawnSync(command, args, { stdio: "ignore", timeout: patienceMs, env }).status === 0;
}
