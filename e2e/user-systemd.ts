import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { afterwards, cleanUp, makeFolder, watchChild } from "./clean-up.ts";
import { endAgentsAfterwards } from "./end-agents.ts";
import { until } from "./until.ts";

const manager = ["/lib/systemd/systemd", "/usr/lib/systemd/systemd"].find((file) => existsSync(file));

/**
 * A systemd of one user with this home, where the machine itself need not have been booted with one: it believes so
 * inside a mount namespace of its own. Its control groups are below one of its own, too.
 */
export async function startUserSystemd(home: string): Promise<Record<string, string>> {
  if (manager === undefined) throw new Error("there is no systemd here");
  const group = `rouse-e2e-${process.pid}`;
  const groups = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"]
    .filter((folder) => existsSync(join(folder, "cgroup.procs")))
    .map((folder) => join(folder, group));
  afterwards(() => groups.forEach(removeGroups));
  endAgentsAfterwards(home);
  const environment = { XDG_RUNTIME_DIR: join(home, "..", "run") };
  for (const folder of [home, environment.XDG_RUNTIME_DIR, ...groups])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  const script = [
    ...groups.map((folder) => `echo $$ > ${folder}/cgroup.procs || exit 1`),
    "mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && exec",
  ];
  const child = spawn(
    "unshare",
    ["-m", "--propagation", "private", "sh", "-c", `${script.join("\n")} ${manager} --user`],
    {
      env: { PATH: process.env["PATH"], HOME: home, ...environment },
      stdio: "ignore",
    },
  );
  watchChild(child);
  const env = { PATH: process.env["PATH"], ...environment };
  await until("systemd is there", () => {
    if (child.exitCode !== null) throw new Error(`systemd ended with ${child.exitCode}`);
    return spawnSync("systemctl", ["--user", "show-environment"], { env }).status === 0;
  });
  return environment;
}

/** Tried, not guessed. */
export async function canRunUserSystemd(): Promise<boolean> {
  if (process.getuid?.() !== 0 || manager === undefined) return false;
  try {
    await startUserSystemd(join(makeFolder(), "home"));
    return true;
  } catch {
    return false;
  } finally {
    await cleanUp();
  }
}

function removeGroups(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroups(join(folder, entry.name));
  rmdirSync(folder);
}
