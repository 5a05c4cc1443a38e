import { minutes, OnTimeout, type TaskPage, TaskPriority, type TaskReport, TaskStatus } from "@rouse/contract";
import { connectTasks, type TaskCalls } from "@rouse/sdk";
import { type Command, InvalidArgumentError, Option } from "commander";
import { byUser, nameOfUser } from "../../caller.ts";
import { exit } from "../../exit-codes.ts";
import { findDaemon } from "../../find-daemon.ts";
import { describeTask, showTask, showTasks } from "../../show/tasks.ts";
import type { Surroundings } from "../../surroundings.ts";
import { styled } from "../../text/styled-text.ts";
import {
  type AddCommand,
  given,
  type Json,
  jsonOption,
  readDuration,
  readWhole,
  reasonOption,
  tell,
} from "../add-command.ts";

const help = `
Inside an agent that Rouse started, the words about tasks are that agent's own:
\`rouse tasks claim --next\` needs no --agent there.

Examples:
  rouse tasks
  rouse tasks add fix-42 --title "Fix the login" --priority high --timeout 2h
  rouse tasks claim --next --agent worker-1
  rouse tasks update fix-42 --agent worker-1 --note "tests are green"
  rouse tasks complete fix-42 --agent worker-1
  rouse tasks --status blocked,failed`;

interface ListOptions extends Json {
  readonly status?: readonly TaskStatus[];
  readonly agent?: string;
  readonly all?: true;
}

const over: readonly TaskStatus[] = ["completed", "failed", "cancelled"];
const open = TaskStatus.options.filter((status) => !over.includes(status));

export const addTasks: AddCommand = (program, here, finish) => {
  const tasks = program
    .command("tasks")
    .description("what there is to do, who does it, and what needs somebody")
    .option("--status <list>", "only these, separated by commas", readStatuses)
    .option("--agent <id>", "only what this agent has, had, or is meant to have")
    .option("--all", "also those that are over")
    .option(...jsonOption)
    .addHelpText("after", help)
    .action((options: ListOptions, command: Command) => {
      if (options.all && options.status !== undefined) command.error("error: give --status or --all, not both");
      return list(here, options);
    });
  addShow(tasks, here, finish);
  // What a person decides about tasks.
  addAdd(tasks, here, finish);
  addOrder(tasks, here, "cancel", "end a task: nobody is to do it any more", (rouse) => rouse.cancelTask);
  addReassign(tasks, here, finish);
  addOrder(tasks, here, "block", "stop work on a task until a person unblocks it", (rouse) => rouse.blockTask);
  addOrder(tasks, here, "unblock", "let work on a blocked task go on", (rouse) => rouse.unblockTask);
  addOrder(tasks, here, "retry", "let a task be tried again that failed or was cancelled", (rouse) => rouse.retryTask);
  addTrust(tasks, here, finish);
  // What an agent says of its tasks, or somebody in its name.
  addClaim(tasks, here, finish);
  addUpdate(tasks, here, finish);
  const refresh = tasks
    .command("refresh")
    .description("keep the claim on a task alive; that does not count as progress");
  addWord(withClaim(refresh), here, (rouse) => rouse.refreshTask);
  const word = (name: string, what: string) => withNote(tasks.command(name).description(what));
  addWord(word("complete", "say that a task is done"), here, (rouse) => rouse.completeTask);
  addWord(word("fail", "say that a task cannot be done"), here, (rouse) => rouse.failTask);
  addWord(word("release", "give a task back, so that another agent can have it"), here, (rouse) => rouse.releaseTask);
};

/** Connects with whatever token there is: inside an agent that Rouse started it is that agent's own. */
const tasksOf = async (here: Surroundings): Promise<TaskCalls> => connectTasks(await findDaemon(here));

function tellTask(here: Surroundings, task: TaskReport, options: Json): void {
  tell(here, options, task, () => [describeTask(task), ...(task.title === "" ? [] : [[task.title]])]);
}

async function list(here: Surroundings, { status, agent, all, json }: ListOptions): Promise<void> {
  const rouse = await tasksOf(here);
  const whose = given({ agentId: agent });
  const page = await readPage(rouse, whose, status ?? (all ? TaskStatus.options : open));
  if (json) return here.printJson(page);
  const unseen = status === undefined && !all ? (await rouse.tasks({ ...whose, status: over, limit: 1 })).total : 0;
  const isNarrowed = status !== undefined || agent !== undefined;
  here.print(showTasks(page, unseen, here.now(), here.width, isNarrowed));
}

/** A page has an end: tasks that only wait to be claimed, however many, must not push out those that need somebody. */
async function readPage(
  rouse: TaskCalls,
  whose: { agentId?: string },
  wanted: readonly TaskStatus[],
): Promise<TaskPage> {
  const page = await rouse.tasks({ ...whose, status: wanted });
  const pressing = wanted.filter((status) => status !== "pending" && !over.includes(status));
  if (page.total === page.tasks.length || pressing.length === 0) return page;
  const { tasks: first } = await rouse.tasks({ ...whose, status: pressing });
  const known = new Set(first.map(({ taskId }) => taskId));
  return { ...page, tasks: [...first, ...page.tasks.filter(({ taskId }) => !known.has(taskId))] };
}

const addShow: AddCommand = (tasks, here) => {
  tasks
    .command("show")
    .description("show all that is known of one task")
    .argument("<id>", "id of a task")
    .option(...jsonOption)
    .action(async (id: string, options: Json) => {
      const task = await (await tasksOf(here)).task(id);
      tell(here, options, task, () => showTask(task, here.now(), here.width));
    });
};

interface AddOptions extends Json {
  readonly title?: string;
  readonly priority?: TaskPriority;
  readonly timeout?: number;
  readonly onTimeout?: OnTimeout;
  readonly dependsOn?: string[];
  readonly owner?: string;
}

const readTimeout = readDuration(
  "a duration such as 90m or 2h, at most 30d",
  (duration) => duration > 0 && duration <= minutes(43_200),
);

const addAdd: AddCommand = (tasks, here) => {
  tasks
    .command("add")
    .description("add a task")
    .argument("<id>", "1 to 128 letters, digits or . _ : @ + -")
    .option("--title <text>", "what is to be done")
    .addOption(new Option("--priority <priority>", "how urgent (default: normal)").choices(TaskPriority.options))
    .option("--timeout <duration>", "how long one agent may take, such as 2h", readTimeout)
    .addOption(new Option("--on-timeout <what>", "and then (default: reassign)").choices(OnTimeout.options))
    .option("--depends-on <ids>", "what must be completed first, by commas", readIds)
    .option("--owner <name>", "who is named when it stalls, is late or needs a person")
    .option(...jsonOption)
    .action(async (taskId: string, { timeout, json, ...task }: AddOptions) => {
      const timeoutMinutes = timeout === undefined ? undefined : timeout / minutes(1);
      const asked = { taskId, actor: nameOfUser(), ...task, ...given({ timeoutMinutes }) };
      tellTask(here, await (await tasksOf(here)).createTask(asked), given({ json }));
    });
};

interface OrderOptions extends Json {
  readonly reason?: string;
}

const withReason = (command: Command): Command =>
  command
    .argument("<id>", "id of a task")
    .option(...reasonOption)
    .option(...jsonOption);

/** An order about one task, as the API takes it. */
type OrderCall = (rouse: TaskCalls) => (taskId: string, order: { actor: string }) => Promise<TaskReport>;

function addOrder(tasks: Command, here: Surroundings, name: string, what: string, order: OrderCall): void {
  withReason(tasks.command(name).description(what)).action(async (id: string, options: OrderOptions) =>
    tellTask(here, await order(await tasksOf(here))(id, byUser(options)), options),
  );
}

const addReassign: AddCommand = (tasks, here) => {
  withReason(tasks.command("reassign").description("take a task from whoever has it, for one agent or for any"))
    .option("--to <agent>", "only this agent may have it")
    .action(async (id: string, { to, ...options }: OrderOptions & { to?: string }) => {
      const order = { ...byUser(options), ...given({ to }) };
      tellTask(here, await (await tasksOf(here)).reassignTask(id, order), options);
    });
};

const addTrust: AddCommand = (tasks, here) => {
  tasks
    .command("trust")
    .description("give an agent whose tasks failed as many as the others again")
    .argument("<agent>", "id of an agent")
    .option(...reasonOption)
    .option(...jsonOption)
    .action(async (agentId: string, options: OrderOptions) => {
      const assignments = await (await tasksOf(here)).restoreAssignments(agentId, byUser(options));
      tell(here, options, assignments, () => [[styled("bold", agentId), " may have tasks like any other again."]]);
    });
};

interface Speaking extends Json {
  readonly agent?: string;
  readonly claim?: number;
  readonly note?: string;
  readonly status?: "running" | "blocked";
}

const addClaim: AddCommand = (tasks, here, finish) => {
  tasks
    .command("claim")
    .description("take a task for an agent, or the most urgent one")
    .argument("[id]", "id of a task")
    .option("--next", "whatever is most urgent and ready")
    .option("--agent <id>", "for whom (default: $ROUSE_AGENT_ID)")
    .option(...jsonOption)
    .addHelpText("after", "\nEnds with 1 when --next finds nothing to do.")
    .action(async (id: string | undefined, options: Speaking & { next?: true }, command: Command) => {
      if ((id === undefined) === (options.next === undefined)) command.error("error: give an id or --next");
      const agentId = mustName(here, options, command);
      const rouse = await tasksOf(here);
      const task = id === undefined ? await rouse.claimNextTask(agentId) : await rouse.claimTask(id, agentId);
      if (task !== null) return tellTask(here, task, options);
      tell(here, options, { task }, () => [["There is nothing to do."]]);
      finish(exit.wrong);
    });
};

const addUpdate: AddCommand = (tasks, here) => {
  const update = withNote(tasks.command("update").description("say that a task goes on, or cannot without a person"));
  update.addOption(new Option("--status <status>", "how it goes on").choices(["running", "blocked"]));
  addWord(update, here, (rouse) => rouse.updateTask);
};

type WordCall = (rouse: TaskCalls) => (taskId: string, said: { agentId: string }) => Promise<TaskReport>;

/** Lets a command say something about a task in an agent's name. */
function addWord(command: Command, here: Surroundings, say: WordCall): void {
  command.action(async (id: string, options: Speaking) => {
    const { claim, note, status } = options;
    const said = { agentId: mustName(here, options, command), ...given({ claim, note, status }) };
    tellTask(here, await say(await tasksOf(here))(id, said), options);
  });
}

const withNote = (command: Command): Command => withClaim(command).option("--note <text>", "what else there is to say");

const withClaim = (command: Command): Command =>
  command
    .argument("<id>", "id of a task")
    .option("--agent <id>", "who says so (default: $ROUSE_AGENT_ID)")
    .option("--claim <n>", "the number of its claim", readWhole(1, Number.MAX_SAFE_INTEGER))
    .option(...jsonOption);

function mustName(here: Surroundings, { agent }: Speaking, command: Command): string {
  return agent ?? here.environment["ROUSE_AGENT_ID"] ?? command.error("error: say for which agent, with --agent");
}

const readIds = (text: string): string[] =>
  text
    .split(",")
    .map((id) => id.trim())
    .filter((id) => id !== "");

function readStatuses(text: string): TaskStatus[] {
  return text.split(",").map((one) => {
    const parsed = TaskStatus.safeParse(one.trim());
    if (parsed.success) return parsed.data;
    throw new InvalidArgumentError(`Expected some of ${TaskStatus.options.join(", ")}.`);
  });
}
