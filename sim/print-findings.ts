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
    findings.violations.length === 0 ? "No promise was broken." : `BROKEN PROMISES (${findings.violations.length}):`,
    ...findings.violations.slice(0, 12).map((violation) => `  ${violation}`),
  ];
  return `${lines.join("\n")}\n`;
}

const row = (name: string, ...cells: (string | number)[]): string =>
  `${name.padEnd(26)}${cells.map((cell) => String(cell).padStart(10)).join("")}`.trimEnd();

const delays = (name: string, { count, p50, p95, max }: Delays): string =>
  count === 0 ? row(name, 0, "–", "–", "–") : row(name, count, `${p50} s`, `${p95} s`, `${max} s`);
