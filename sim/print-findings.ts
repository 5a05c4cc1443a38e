import type { Findings } from "./judges/judge.ts";
import type { QuietFindings } from "./judges/quiet-tally.ts";
import type { SicknessFindings } from "./judges/sickness-judge.ts";
import type { Delays } from "./judges/summarise.ts";
import type { TaskFindings } from "./judges/task-judge.ts";

/** The findings as a page for people. */
export function printFindings(findings: Findings): string {
  const { falseVerdicts, trueVerdicts, detection } = findings;
  const lines = [
    `seed ${findings.seed}, preset ${findings.preset}: ${findings.agents} agents, ${Math.round(findings.agentHours).toLocaleString("en")} agent-hours, ` +
      `${findings.beats.toLocaleString("en")} beats, ${findings.faults} faults of the monitor's own; history ${findings.fingerprint}`,
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
    ...(findings.ladder === null ? [] : printHeld(findings.ladder, findings.orchestrator)),
    ...(findings.tasks === null ? [] : [...printTasks(findings.tasks), ""]),
    `breakers: ${findings.breakers.outages} times what a well agent calls was down; ${findings.breakers.resets} resets, ${findings.breakers.heard} heard of`,
    "",
    findings.violations.length === 0 ? "No promise was broken." : `BROKEN PROMISES (${findings.violations.length}):`,
    ...findings.violations.slice(0, 12).map((violation) => `  ${violation}`),
  ];
  return `${lines.join("\n")}\n`;
}

function printTasks({ created, completed, failed, cancelled, claims, refused, ...of }: TaskFindings): string[] {
  const { stalled, escalated, longRunning, timedOut } = of.told;
  const back = Object.entries(of.givenBack).sort((a, b) => b[1] - a[1]);
  const ends = `${completed} completed, ${failed} failed, ${cancelled} cancelled`;
  return [
    `tasks: ${created} created, ${ends}; ${claims} claims given, ${refused} refused; ${of.orders} orders; ${of.unheard} answers unheard`,
    `       told: ${stalled} stalled, ${escalated} escalated, ${longRunning} long-running, ${timedOut} timed out, ${of.fewerAssignments} trusted with fewer; ` +
      `not done by whom they were given to: ${back.map(([because, times]) => `${times} ${because}`).join(", ") || "none"}`,
  ];
}

function printHeld(ladder: NonNullable<Findings["ladder"]>, orchestrator: string): string[] {
  return [
    ...printLadder(ladder),
    "",
    `limits reached: ${ladder.limits.reached}; put off again: ${ladder.limits.putOff}; started again after one: ${ladder.limits.resumed}`,
    row("started after its reset", "cases", "P50", "P95", "max"),
    delays("… that a field named", ladder.limits.delay),
    delays("… that words named to the minute", ladder.limits.delayToMinute),
    `orchestrator: ${orchestrator}; ways of looking at processes that failed: ${ladder.eyeFailures}`,
    "",
    ...printQuiet(ladder.quiet),
    "",
    ...printSicknesses(ladder.sicknesses),
    "",
  ];
}

/** Who was well and quiet, and how close each kind came to being stopped. It takes two kinds of evidence. */
function printQuiet(quiet: Readonly<Record<string, QuietFindings>>): string[] {
  return [
    line("well and quiet", "agents", "hours", "quiet", "called ill", "nudged", "asked", "refused", "stopped", "others"),
    ...Object.entries(quiet).map(([name, of]) => {
      const counts = [of.agents, Math.round(of.agentHours), Math.round(of.quietHours), of.calledIll, of.nudged];
      const done = [of.askedAbout, of.refused, of.stoppedByRouse, of.stoppedByOthers];
      return `${line(name, ...counts, ...done)}   ${describeNearest(of)}`;
    }),
  ];
}

function describeNearest({ evidence, furthest, askedAbout }: QuietFindings): string {
  const against = evidence.length === 0 ? "nothing against it" : evidence.join(" and ");
  const reached = furthest === "asked about" || furthest === "at the gate" ? `, asked about ${askedAbout} times` : "";
  return `${against}${evidence.length === 1 ? " only" : ""}; furthest: ${furthest}${reached}`;
}

/** How soon each sickness was met, from its beginning: mean and P95 in minutes, with the number of cases. */
function printSicknesses(sicknesses: Readonly<Record<string, SicknessFindings>>): string[] {
  const minutes = (seconds: number): string => (seconds / 60).toFixed(seconds < 600 ? 1 : 0);
  const times = ({ count, mean, p95 }: SicknessFindings["nudge"]): string =>
    count === 0 ? "–" : `${minutes(mean)} / ${minutes(p95)} (${count})`;
  return [
    row("ill (min: mean / P95)", "cases", "nudge", "question", "stop", "well again", "recovered", "by Rouse"),
    ...Object.entries(sicknesses).map(([name, of]) => {
      const share = of.recoveredShare === null ? "–" : `${(100 * of.recoveredShare).toFixed(0)} %`;
      const when = [of.nudge, of.question, of.stop, of.recovery].map(times);
      return row(name, of.cases, ...when, share, of.stoppedByRouse);
    }),
  ];
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
    row("well agents stopped by Rouse", ladder.healthyStopped),
    row("… by a decision, by people", ladder.healthyStoppedByDecision, ladder.healthyStoppedByPeople),
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

const line = (name: string, ...cells: (string | number)[]): string =>
  `${name.padEnd(24)}${cells.map((cell) => String(cell).padStart(11)).join("")}`;

const delays = (name: string, { count, p50, p95, max }: Delays): string =>
  count === 0 ? row(name, 0, "–", "–", "–") : row(name, count, `${p50} s`, `${p95} s`, `${max} s`);
