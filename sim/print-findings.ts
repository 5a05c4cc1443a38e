import type { Delays, Findings } from "./judge.ts";

/** The findings as a page for people. */
export function printFindings(findings: Findings): string {
  const { falseVerdicts, trueVerdicts, detection } = findings;
  const lines = [
    `seed ${findings.seed}, preset ${findings.preset}: ${findings.agents} agents, ${Math.round(findings.agentHours).toLocaleString("en")} agent-hours, ` +
      `${findings.beats.toLocaleString("en")} beats, ${findings.faults} troubles of the monitor's own; history ${findings.fingerprint}`,
    "",
    row("verdict", "right", "false", "", ""),
    ...(["UNRESPONSIVE", "STUCK", "FAILING"] as const).map((state) =>
      row(state, trueVerdicts[state], falseVerdicts[state], "", ""),
    ),
    "",
    row("detection after", "cases", "P50", "P95", "max"),
    delays("death at work", detection.working),
    delays("death while idle", detection.idle),
    delays("end of announced silence", detection.announced),
    delays("getting stuck", detection.stuck),
    delays("starting to fail", detection.failing),
    "",
    ...(findings.ladder === null ? [] : [...printLadder(findings.ladder), ""]),
    findings.violations.length === 0 ? "No promise was broken." : `BROKEN PROMISES (${findings.violations.length}):`,
    ...findings.violations.slice(0, 12).map((violation) => `  ${violation}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** What was done about it: how incidents ended, who was stopped and brought back, and how soon. */
function printLadder(ladder: NonNullable<Findings["ladder"]>): string[] {
  const { intervention, endings, refusals } = ladder;
  const share = (100 * ladder.broughtBack) / Math.max(1, ladder.recoverable);
  const sorted = (of: Readonly<Record<string, number>>) => Object.entries(of).sort((a, b) => b[1] - a[1]);
  return [
    row("done about it", "incidents", "nudges", "questions", "stops", "starts"),
    row("", ladder.incidents, ladder.nudges, ladder.escalations, ladder.stops, ladder.restarts),
    "",
    row("well agents stopped", ladder.healthyStopped),
    row("well agents taken for stuck", ladder.lookAlikes),
    row("most stops in one window", ladder.mostStopsInWindow),
    row("ends of agents", "all", "ours to see to", "brought back", "share"),
    row("", ladder.deaths, ladder.recoverable, ladder.broughtBack, `${share.toFixed(1)} %`),
    row("done after the verdict", "cases", "mean", "P95", "max"),
    row("", intervention.count, ...[intervention.mean, intervention.p95, intervention.max].map((s) => `${s} s`)),
    row("audit trail", ladder.auditLines, ladder.auditSound ? "sound" : "NOT SOUND"),
    "",
    ...sorted(endings).map(([because, times]) => row(`ended: ${because}`, times)),
    ...sorted(refusals).map(([because, times]) => row(`not stopped: ${because}`, times)),
    ...ladder.lost.map((one) => `  not brought back: ${one}`),
  ];
}

const row = (name: string, ...cells: (string | number)[]): string =>
  `${name.padEnd(36)}${cells.map((cell) => String(cell).padStart(15)).join("")}`.trimEnd();

const delays = (name: string, { count, p50, p95, max }: Delays): string =>
  count === 0 ? row(name, 0, "–", "–", "–") : row(name, count, `${p50} s`, `${p95} s`, `${max} s`);
