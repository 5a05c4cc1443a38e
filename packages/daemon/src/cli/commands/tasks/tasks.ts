import { type TaskPage, TaskStatus } from "@rouse/contract";
import { type Command, InvalidArgumentError } from "commander";
import { tasksOf } from "../../ask-tasks.ts";
import { showTask, showTasks } from "../../show/tasks.ts";
import type { Surroundings } from "../../surroundings.ts";
import type { AddCommand } from "../add-command.ts";
import { addTaskOrders } from "./task-orders.ts";
import { addTaskWords } from "./task-words.ts";

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

interface ListOptions {
  readonly status?: readonly TaskStatus[];
  readonly agent?: string;
  readonly all?: true;
  readonly json?: true;
}

type Rouse = Awaited<ReturnType<typeof tasksOf>>;

const over: readonly TaskStatus[] = ["completed", "failed", "cancelled"];
const open = TaskStatus.options.filter((status) => !over.includes(status));

export const addTasks: AddCommand = (program, here, finish) => {
  const tasks = program
    .command("tasks")
    .description("what there is to do, who does it, and what needs somebody")
    .option("--status <list>", "only these, separated by commas", readStatuses)
    .option("--agent <id>", "only what this agent has, had, or is meant to have")
    .option("--all", "also those that are over")
    .option("--json", "print one JSON document")
    .addHelpText("after", help)
    .action((options: ListOptions, command: Command) => {
      if (options.all && options.status !== undefined) command.error("error: give --status or --all, not both");
      return list(here, options);
    });
  addShow(tasks, here, finish);
  addTaskOrders(tasks, here, finish);
  addTaskWords(tasks, here, finish);
};

async function list(here: Surroundings, { status, agent, all, json }: ListOptions): Promise<void> {
  const rouse = await tasksOf(here);
  const whose = agent === undefined ? {} : { agentId: agent };
  const page = await readPage(rouse, whose, status ?? (all ? TaskStatus.options : open));
  if (json) return here.printJson(page);
  const unseen = status === undefined && !all ? (await rouse.tasks({ ...whose, status: over, limit: 1 })).total : 0;
  const isNarrowed = status !== undefined || agent !== undefined;
  here.print(showTasks(page, unseen, here.now(), here.width, isNarrowed));
}

/** A page has an end: what only waits to be claimed, however much it is, must not push out what needs somebody. */
async function readPage(rouse: Rouse, whose: { agentId?: string }, wanted: readonly TaskStatus[]): Promise<TaskPage> {
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
    .description("all that is known of one")
    .argument("<id>", "id of a task")
    .option("--json", "print one JSON document")
    .action(async (id: string, { json }: { json?: true }) => {
      const task = await (await tasksOf(here)).task(id);
      if (json) here.printJson(task);
      else here.print(showTask(task, here.now(), here.width));
    });
};

function readStatuses(text: string): TaskStatus[] {
  return text.split(",").map((one) => {
    const parsed = TaskStatus.safeParse(one.trim());
    if (parsed.success) return parsed.data;
    throw new InvalidArgumentError(`Expected some of ${TaskStatus.options.join(", ")}.`);
  });
}
