import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { Fault } from "@rouse/contract";

export const unitName = "rouse.service";

interface SystemctlEnd {
  readonly ok: boolean;
  /** What it printed to stdout and stderr, without the last newline. */
  readonly said: string;
}

const patience = 120_000;

/** Runs `systemctl --user …`. Stopping a unit takes as long as its process takes to end. */
export function systemctl(words: readonly string[], environment: NodeJS.ProcessEnv): SystemctlEnd {
  const { status, stdout, stderr, error } = spawnSync("systemctl", ["--user", ...words], {
    encoding: "utf8",
    env: environment,
    timeout: patience,
  });
  return { ok: status === 0, said: [stdout, stderr, error?.message].filter(Boolean).join("\n").trim() };
}

/** Whether this user's systemd can be reached: not in most containers, nor in a shell that was entered by `su`. */
export const hasUserSystemd = (environment: NodeJS.ProcessEnv): boolean =>
  systemctl(["show-environment"], environment).ok;

/** Whether this user's services go on after the last logout. */
export const lingers = (): boolean => existsSync(join("/var/lib/systemd/linger", userInfo().username));

interface ServicePlan {
  /** The Node that runs it, and the program: whole paths. */
  readonly node: string;
  readonly program: string;
  /** `$ROUSE_HOME`, if it is set; otherwise the service finds its home by itself. */
  readonly home: string | null;
  /** Further words for `rouse up`. */
  readonly words: readonly string[];
}

/** The first words of a unit that Rouse wrote. */
export const unitMark = "# Written by `rouse service install`.";

/**
 * Writes a unit for the systemd of one user. Agents that the service started again are in its control group: with
 * `KillMode=process` they live on when it stops, and with `OOMPolicy=continue` one that runs out of memory does not end
 * the service. The service is not started again after a bad configuration or a taken port.
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

/** Quotes a word of a command line, where "$" begins a variable as well. */
const quoteWord = (word: string): string => quoteAssignment(word).replaceAll("$", "$$$$");

/** Quotes a text for systemd: "%" begins a specifier, and quotes hold spaces together. */
function quoteAssignment(text: string): string {
  if (/\p{Cc}/u.test(text)) {
    throw new Fault("bad-request", `a unit of systemd cannot hold ${JSON.stringify(text)}: it has a control character`);
  }
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
  return /^[\w@+=:,./%-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}
