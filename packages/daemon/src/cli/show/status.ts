import type { EpochMs } from "@rouse/contract";
import type { DaemonFile, Starter } from "../../home/open-home.ts";
import { tellHeldAgents } from "../find-held.ts";
import type { Life, Problem, StatusReport } from "../gather-status.ts";
import { drawFacts, type Fact } from "../text/draw-facts.ts";
import { type Line, type Style, styled } from "../text/styled-text.ts";
import { stampAndAge } from "../text/tell-time.ts";
import { describeDoubt } from "./doubt.ts";
import { countStandings } from "./standing.ts";

const headlines: Readonly<Record<Life, readonly [Style, string]>> = {
  ready: ["green", "Rouse is running and ready."],
  "not-ready": ["red", "Rouse is running, but not ready."],
  refused: ["yellow", "Rouse is running, but tells us no more."],
  "no-answer": ["red", "Rouse is running, but does not answer."],
  "not-running": ["yellow", "No Rouse is running."],
  unreachable: ["red", "No Rouse can be reached."],
};

const places: Readonly<Record<Starter, string>> = {
  terminal: "in a terminal",
  detached: "in the background",
  service: "as a service of systemd",
};

export function showStatus(report: StatusReport, now: EpochMs, width: number): Line[] {
  const { life, home, daemon, problems } = report;
  const facts: Fact[] = [
    ...(life === "not-running" ? factsOfLast(report, now) : factsOfRunning(report, now)),
    ...(daemon === null && report.url !== null ? [] : [["data", [home]] as Fact]),
    ...(daemon === null ? [] : [["log", [logOf(daemon)]] as Fact]),
    ...(problems.length === 0 ? [] : [["problems", ...problems.map(describeProblem)] as Fact]),
    ...(life === "not-running" ? [["next", [styled("bold", "rouse up -d"), " starts it"]] as Fact] : []),
  ];
  const [style, words] = headlines[life];
  return [[styled(style, words)], ...drawFacts(facts, width)];
}

function factsOfRunning({ daemon, url, answer }: StatusReport, now: EpochMs): Fact[] {
  const version = answer?.version ?? daemon?.version;
  const since = answer?.started_at ?? daemon?.startedAt;
  const doubts = answer === null ? [] : describeDoubt(answer.monitor, now);
  return [
    ...(version === undefined ? [] : [["version", [version]] as Fact]),
    ...(url === null ? [] : [["address", [url]] as Fact]),
    ...(daemon === null ? [] : [["process", [`${daemon.pid}, ${places[daemon.startedBy]}`]] as Fact]),
    ...(since === undefined ? [] : [["since", [stampAndAge(since, now)]] as Fact]),
    ...(daemon === null ? [] : [["config", [describeConfig(daemon)]] as Fact]),
    ...(answer === null ? [] : [["agents", countAgents(answer)] as Fact]),
    ...(doubts.length === 0 ? [] : [["doubts", ...doubts] as Fact]),
  ];
}

function factsOfLast({ daemon, held, left, lastWords }: StatusReport, now: EpochMs): Fact[] {
  return [
    ...(daemon === null
      ? []
      : [
          [
            "last",
            [`process ${daemon.pid} is gone and did not say goodbye; began ${stampAndAge(daemon.startedAt, now)}`],
          ] as Fact,
        ]),
    ...(lastWords === "" ? [] : [["last words", ...lastLines(lastWords).map((line): Line => [line])] as Fact]),
    [
      "agents",
      [held.length + left.length === 0 ? "none runs" : `${tellHeldAgents({ agents: held, left })}; nobody watches`],
    ],
  ];
}

const mostLines = 12;
const lastLines = (text: string): string[] => text.split("\n").slice(-mostLines);

/** The sources begin with the preset. */
const describeConfig = ({ preset, sources }: DaemonFile): string =>
  sources.length === 0 ? `preset ${preset ?? "unknown"}` : sources.join(", ");

const logOf = ({ log, startedBy }: DaemonFile): string =>
  log ?? (startedBy === "service" ? "`journalctl --user -u rouse`" : "in the terminal it was started in");

const countAgents = (answer: NonNullable<StatusReport["answer"]>): Line => [
  String(answer.total_agents),
  ...countStandings(answer).flatMap((count, index) => [index === 0 ? ": " : ", ", ...count]),
];

const describeProblem = ({ what, advice }: Problem): Line => [
  styled("yellow", what),
  advice === "" ? "" : `; ${advice}`,
];
