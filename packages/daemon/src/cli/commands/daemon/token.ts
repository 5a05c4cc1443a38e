import {
  AgentId,
  type DurationMs,
  days,
  type EpochMs,
  Fault,
  Id,
  longestPromiseSeconds,
  minutes,
  seconds,
} from "@rouse/contract";
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  type IssuedToken,
  isForAgent,
  issueToken,
  listTokens,
  revokeToken,
  type TokenRole,
  tokenRoles,
} from "../../../home/issued-tokens.ts";
import { openHome, rotateToken } from "../../../home/open-home.ts";
import { refuseInsideAgent } from "../../caller.ts";
import { findRunning } from "../../find-daemon.ts";
import type { Surroundings } from "../../surroundings.ts";
import { drawList, type ListColumn, none } from "../../text/draw-table.ts";
import { type Line, type Span, styled } from "../../text/styled-text.ts";
import { inTime, stamp } from "../../text/tell-time.ts";
import { type AddCommand, type Json, jsonOption, readDuration, tell } from "../add-command.ts";

const help = `
What each role may do:
  owner         everything, like the token in $ROUSE_HOME/token
  orchestrator  read; decide and acknowledge escalations; nudge
  viewer        read
  agent         speak for one agent: its heartbeats, steps, answers,
                checkpoints and tasks, and read its own health
  ping          say that one agent lives, by fetching an address (token ping)

Everything done with a token is recorded under its role and name. Run this
command on the daemon's machine, as the daemon's user. The daemon need not be
running; if it is, the change takes effect at once. Whoever uses a token puts it
into ROUSE_TOKEN or sends it as "Authorization: Bearer TOKEN".

Examples:
  rouse token create --role orchestrator --name planner --expires 30d
  rouse token create --role agent --name ci-agent --agent worker-7
  rouse token ping nightly-backup
  rouse token list
  rouse token revoke planner`;

const forOwner = "tokens are made and ended by their owner";

export const addToken: AddCommand = (program, here, finish) => {
  const token = program
    .command("token")
    .description("tokens for others: orchestrators, viewers, agents; or a new one for yourself")
    .addHelpText("after", help);
  for (const add of [addCreate, addPing, addList, addRevoke, addRotate]) add(token, here, finish);
};

interface CreateOptions {
  readonly role: TokenRole;
  readonly name: string;
  readonly agent?: string;
  readonly expires?: DurationMs;
}

const createHelp = `
The token is printed once and cannot be shown again: only a hash of it is kept.
It is the only thing on standard output, so it can go straight into a file:

  (umask 077; rouse token create --role viewer --name wall > wall.token)`;

const addCreate: AddCommand = (token, here) => {
  token
    .command("create")
    .description("make a token and print it, once")
    .addOption(
      new Option("--role <role>", "what it may be used for").choices([...tokenRoles]).makeOptionMandatory(true),
    )
    .requiredOption("--name <name>", "how it stands in the audit trail, and how it is revoked", readName)
    .option("--agent <id>", "with --role agent or ping: whom it speaks for", readAgent)
    .option("--expires <time>", "good for so long only: 12h, 30d (default: until revoked)", readExpiry)
    .addHelpText("after", createHelp)
    .action(({ role, name, agent, expires }: CreateOptions, command: Command) => {
      refuseInsideAgent(here, forOwner);
      if (isForAgent(role) && agent === undefined) command.error(`error: --role ${role} needs --agent ID`);
      if (!isForAgent(role) && agent !== undefined) command.error("error: --agent goes with --role agent or ping only");
      here.printText(`${issue(here, { name, role, agentId: agent ?? null }, expires)}\n`);
    });
};

type Wanted = Omit<Parameters<typeof issueToken>[1], "expiresAt">;

function issue(here: Surroundings, wanted: Wanted, expires: DurationMs | undefined): string {
  const now = here.now();
  const expiresAt = expires === undefined ? null : now + expires;
  return issueToken(openHome(here.home).folder, { ...wanted, expiresAt }, now);
}

interface PingOptions extends Json {
  readonly name?: string;
  readonly every?: DurationMs;
  readonly grace?: DurationMs;
  readonly expires?: DurationMs;
  readonly url?: string;
}

const pingHelp = `
For a cron job or a device that can fetch an address and no more. Each fetch is a
heartbeat without facts; ?state=start, running, idle, done or fail says more:

  curl -fsS -m 10 --retry 3 "$PING?state=done"

With --every, a run that does not come is told as soon as it is later than
--grace; that counts from the first ping:

  rouse token ping nightly-backup --every 1d --grace 30m

The address holds a token that is good for this agent's pings and for nothing
else. It is printed once; \`rouse token revoke ping-AGENT\` ends it.`;

const addPing: AddCommand = (token, here) => {
  token
    .command("ping")
    .description("make an address that an agent pings, and print it, once")
    .argument("<agent>", "whose sign of life it is", readAgent)
    .option("--every <time>", "how often it is to be heard: 5m, 1h, 1d (default: as its policy says)", readEvery)
    .option("--grace <time>", "with --every: how late a ping may be (default: 5m)", readGrace)
    .option("--name <name>", "how it is revoked (default: ping-AGENT)", readName)
    .option("--expires <time>", "good for so long only: 12h, 30d (default: until revoked)", readExpiry)
    .option("--url <address>", "where Rouse is reached from there (default: where it listens)", readAddress)
    .option(...jsonOption)
    .addHelpText("after", pingHelp)
    .action(async (agentId: string, options: PingOptions, command: Command) => {
      const { name = `ping-${agentId}`, every, grace, expires, url, json } = options;
      refuseInsideAgent(here, forOwner);
      if (grace !== undefined && every === undefined) command.error("error: --grace goes with --every only");
      const base = url ?? here.environment.ROUSE_URL ?? (await findRunning(here.home))?.url;
      if (base === undefined)
        throw new Fault(
          "daemon-unreachable",
          "no Rouse is running; start it with `rouse up`, or say --url where it will be",
        );
      const rhythm =
        every === undefined ? undefined : { seconds: every / 1000, graceSeconds: (grace ?? minutes(5)) / 1000 };
      const secret = issue(here, { name: readName(name), role: "ping", agentId, every: rhythm }, expires);
      const address = `${base.replace(/\/+$/, "")}/ping/${encodeURIComponent(agentId)}/${encodeURIComponent(secret)}`;
      if (json) here.printJson({ agentId, name, url: address });
      else here.printText(`${address}\n`);
    });
};

const addList: AddCommand = (token, here) => {
  token
    .command("list")
    .description("names, roles and when they expire; never the tokens themselves")
    .option(...jsonOption)
    .action((options: Json) => {
      const tokens = listTokens(here.home).map(({ hash: _, ...shown }) => shown);
      tell(here, options, { tokens }, () => showTokens(tokens, here.now(), here.width));
    });
};

const addRevoke: AddCommand = (token, here) => {
  token
    .command("revoke")
    .description("refuse the token of that name from now on")
    .argument("<name>", "as `rouse token list` shows it")
    .action((name: string) => {
      refuseInsideAgent(here, forOwner);
      if (!revokeToken(here.home, name))
        throw new Fault("not-found", "there is no token of that name; `rouse token list` shows them");
      here.print([[`${name} is revoked.`]]);
    });
};

const rotateHelp = `
For when somebody may have read $ROUSE_HOME/token. Agents that Rouse started have
tokens made from the old one, which end with it: they are still watched through
their terminals, but are not heard until they are started again. Tokens made by
\`rouse token create\` stay good.`;

const addRotate: AddCommand = (token, here) => {
  token
    .command("rotate")
    .description("replace your own token, the one in $ROUSE_HOME/token")
    .addHelpText("after", rotateHelp)
    .action(async () => {
      refuseInsideAgent(here, forOwner);
      const daemon = await findRunning(here.home);
      if (daemon !== null)
        throw new Fault("daemon-running", `a Rouse runs with the old token (pid ${daemon.pid}); stop it first`);
      rotateToken(here.home);
      here.print([["The token is a new one. Start agents that were running again."]]);
    });
};

const readBy =
  (schema: typeof Id | typeof AgentId) =>
  (text: string): string => {
    const parsed = schema.safeParse(text);
    if (parsed.success) return text;
    throw new InvalidArgumentError(parsed.error.issues[0]?.message ?? "");
  };
const readName = readBy(Id);
const readAgent = readBy(AgentId);

function readAddress(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).search === "") return text;
  throw new InvalidArgumentError("Expected an address such as https://rouse.example.org:8443.");
}

const readExpiry = readDuration(
  "a time such as 12h or 30d, at most 3650d",
  (duration) => duration > 0 && duration <= days(3650),
);

const readGrace = readDuration(
  "a time such as 5m, 1h or 1d, at most 30d",
  (duration) => duration <= seconds(longestPromiseSeconds),
);

function readEvery(text: string): DurationMs {
  const every = readGrace(text);
  if (every >= seconds(1)) return every;
  throw new InvalidArgumentError("Expected a time such as 5m, 1h or 1d, at least 1s.");
}

type Shown = Omit<IssuedToken, "hash">;

function showTokens(tokens: readonly Shown[], now: EpochMs, width: number): Line[] {
  if (tokens.length === 0) return [["No tokens were issued; `rouse token create` makes one."]];
  const columns: ListColumn<Shown>[] = [
    ["NAME", ({ name }) => name, { least: 8 }],
    ["ROLE", ({ role }) => role],
    ["AGENT", ({ agentId }) => agentId ?? none, { least: 6 }],
    ["CREATED", ({ createdAt }) => stamp(createdAt)],
    ["EXPIRES", ({ expiresAt }) => whenOver(expiresAt, now)],
  ];
  return drawList(tokens, columns, width);
}

function whenOver(expiresAt: string | null, now: EpochMs): string | Span {
  if (expiresAt === null) return "never";
  return Date.parse(expiresAt) <= now ? styled("red", "expired") : inTime(expiresAt, now);
}
