import type { EpochMs } from "@rouse/contract";
import type { DaemonFile, Starter } from "../../home/open-home.ts";
import { tellHeldAgents } from "../find-held.ts";
import type { Life, Problem, StatusReport } from "../gather-status.ts";
import { drawFacts, type Fact } from "../text/draw-table.ts";
import { type Line, type Style, styled } from "../text/styled-text.ts";
import { stampAndAge } from "../text/tell-time.ts";
import { describeDoubt } from "./doubt.ts";
import { countStandings } from "./standing.ts";

const headlines: Readonly<Record<Life, readonly [Style, string]>> = {
  ready: ["green", "Rouse is running and ready."],
  "not-ready": ["red", "Rouse is running, but not ready."],
  refused: ["yellow", "Rouse is running, but refuses our request."],
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
  const facts: (Fact | null)[] = [
    ...(life === "not-running" ? factsOfLast(report, now) : factsOfRunning(report, now)),
    daemon === null && report.url !== null ? null : ["data", [home]],
    daemon && ["log", [logOf(daemon)]],
    problems.length === 0 ? null : ["problems", ...problems.map(describeProblem)],
    life === "not-running" ? ["next", [styled("bold", "rouse up -d"), " starts it"]] : null,
  ];
  const [style, words] = headlines[life];
  return [[styled(style, words)], ...drawFacts(facts, width)];
}

function factsOfRunning({ daemon, url, answer }: StatusReport, now: EpochMs): (Fact | null)[] {
  const version = answer?.version ?? daemon?.version;
  const since = answer?.started_at ?? daemon?.startedAt;
  const doubts = answer === null ? [] : describeDoubt(answer.monitor, now);
  return [
    version === undefined ? null : ["version", [version]],
    url === null ? null : ["address", [url]],
    daemon && ["process", [`${daemon.pid}, ${places[daemon.startedBy]}`]],
    since === undefined ? null : ["since", [stampAndAge(since, now)]],
    daemon && ["config", [describeConfig(daemon)]],
    answer && ["agents", countAgents(answer)],
    doubts.length === 0 ? null : ["doubts", ...doubts],
  ];
}

function factsOfLast({ daemon, held, left, lastWords }: StatusReport, now: EpochMs): (Fact | null)[] {
  const began = daemon && stampAndAge(daemon.startedAt, now);
  const lines = lastWords.split("\n").slice(-mostLines);
  const runs = held.length + left.length > 0;
  return [
    daemon && ["last", [`process ${daemon.pid} is gone and did not say goodbye; began ${began}`]],
    lastWords === "" ? null : ["last words", ...lines.map((line) => [line])],
    ["agents", [runs ? `${tellHeldAgents({ agents: held, left })}; nobody watches` : "none runs"]],
  ];
}

const mostLines = 12;

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
