import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { Fault } from "@rouse/contract";

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

export interface ServicePlan {
  /** The Node that runs it, and the program: whole paths. */
  readonly node: string;
  readonly program: string;
  /** `$ROUSE_HOME`, if it is set; otherwise the service finds its home by itself. */
  readonly home: string | null;
  /** Further words for `rouse up`. */
  readonly words: readonly string[];
}

/** By this a unit is known as ours. */
export const unitMark = "# Written by `rouse service install`.";

/**
 * The unit of a systemd of one user. `KillMode=process` and `OOMPolicy=continue`, because agents that the service started again are in its control group:
 * they live on when it stops, and one that runs out of memory does not take it along. A bad configuration and a taken port do not become better by
 * being tried again.
 */
export function writeUnit({ node, program, home, words }: ServicePlan): string {
  const command = [node, program, "up", "--started-by", "service", ...words].map(quoteWord).join(" ");
  return `${unitMark} \`rouse service uninstall\` removes it.
[Unit]
Description=Rouse: health monitoring for autonomous agents
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
ExecStart=${command}
ExecReload=/bin/kill -HUP $MAINPID
${home === null ? "" : `Environment=${quoteAssignment(`ROUSE_HOME=${home}`)}\n`}KillMode=process
OOMPolicy=continue
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=2 7

[Install]
WantedBy=default.target
`;
}

/** Of a command line, "$" begins a variable as well. */
const quoteWord = (word: string): string => quoteAssignment(word).replaceAll("$", "$$$$");

/** As systemd reads it: "%" begins a specifier, and quotes hold spaces together. */
function quoteAssignment(text: string): string {
  if (/\p{Cc}/u.test(text)) {
    throw new Fault("bad-request", `a unit of systemd cannot hold ${JSON.stringify(text)}: it has a control character`);
  }
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
  return /^[\w@+=:,./%-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}
