import { Fault } from "@rouse/contract";

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
