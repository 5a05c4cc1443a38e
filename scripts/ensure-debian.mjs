import { spawnSync } from "node:child_process";

/** Programs that tests run and npm does not bring; each is in the Debian package of its name. */
const wanted = ["tmux", "zsh", "fish"];
const patienceMs = 120_000;

/** Installs what is missing where that is ours to do (root, apt); otherwise says what will be skipped. */
export function ensureDebian() {
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
