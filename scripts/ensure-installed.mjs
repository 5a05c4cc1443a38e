import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { giveUp, inRepository } from "./repository.mjs";
import { npmSucceeds } from "./run-program.mjs";

const lockfile = inRepository("package-lock.json");
const installedLockfile = inRepository("node_modules", ".package-lock.json");
const stamp = inRepository("node_modules", ".rouse-install-stamp");
// Beside node_modules, not inside it: `npm ci` begins by deleting that folder.
const turn = inRepository(".rouse-installing");

/** Installs what package-lock.json names, unless it is there already; silent when nothing is to be done. */
export async function ensureInstalled() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    giveUp(`Node ${process.versions.node} is too old; Rouse needs 20.19 or newer.`);
  }
  if (isInstalled() && !existsSync(turn)) return;
  await takeTurn();
  try {
    if (!isInstalled()) install();
  } finally {
    rmSync(turn, { force: true });
  }
}

function isInstalled() {
  if (!existsSync(installedLockfile)) return false;
  const wanted = hashOfLockfile();
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return true;
  if (!installedByHand()) return false;
  writeFileSync(stamp, wanted);
  return true;
}

const hashOfLockfile = () => createHash("sha256").update(readFileSync(lockfile)).digest("hex");

/** Whether `npm install` by hand left exactly what the lockfile names. npm writes its list last, when all is there. */
function installedByHand() {
  const wanted = JSON.parse(readFileSync(lockfile, "utf8")).packages;
  const present = JSON.parse(readFileSync(installedLockfile, "utf8")).packages;
  return Object.entries(wanted)
    .filter(([path]) => path.startsWith("node_modules/"))
    .every(([path, entry]) =>
      path in present ? present[path].integrity === entry.integrity : entry.optional === true || entry.peer === true,
    );
}

function install() {
  console.error("rouse: installing dependencies with npm ci …");
  // A production environment would leave out esbuild, without which nothing here can be built.
  if (!npmSucceeds(["ci", "--include=dev"])) giveUp("npm ci failed; what it printed above says why.");
  writeFileSync(stamp, hashOfLockfile());
}

/** One install at a time: waits while another process installs, and takes over from one that died. */
async function takeTurn() {
  for (let waited = false; ; waited = true) {
    try {
      writeFileSync(turn, String(process.pid), { flag: "wx" });
      process.once("exit", () => rmSync(turn, { force: true }));
      return;
    } catch (error) {
      if (error.code !== "EEXIST") giveUp(`cannot write ${turn}: ${error.message}.`);
    }
    const holder = holderOfTurn();
    if (holder === "gone") rmSync(turn, { force: true });
    else {
      if (!waited) console.error(`rouse: waiting for process ${holder}, which is installing dependencies …`);
      await delay(250);
    }
  }
}

function holderOfTurn() {
  try {
    const pid = Number(readFileSync(turn, "utf8"));
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    return error.code === "EPERM" ? "of another user" : "gone";
  }
}
