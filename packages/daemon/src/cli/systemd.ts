import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";

export const unitName = "rouse.service";

export interface SystemctlEnd {
  readonly ok: boolean;
  /** What it printed, of either kind, without the last line's end. */
  readonly said: string;
}

const patience = 120_000;

/** Runs `systemctl --user …`. Stopping a unit takes as long as the unit does. */
export function systemctl(words: readonly string[], environment: NodeJS.ProcessEnv): SystemctlEnd {
  const { status, stdout, stderr, error } = spawnSync("systemctl", ["--user", ...words], {
    encoding: "utf8",
    env: environment,
    timeout: patience,
  });
  return { ok: status === 0, said: [stdout, stderr, error?.message].filter(Boolean).join("\n").trim() };
}

/** Whether there is a systemd of this user to talk to: not in most containers, nor in a shell that was entered by `su`. */
export const hasUserSystemd = (environment: NodeJS.ProcessEnv): boolean =>
  systemctl(["show-environment"], environment).ok;

/** Whether this user's services go on without a login; without it they end with the last one. */
export const lingers = (): boolean => existsSync(join("/var/lib/systemd/linger", userInfo().username));
