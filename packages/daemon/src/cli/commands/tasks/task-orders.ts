import { type DurationMs, minutes, OnTimeout, parseDuration, TaskPriority, type TaskReport } from "@rouse/contract";
import type { TaskCalls } from "@rouse/sdk";
import { type Command, InvalidArgumentError, Option } from "commander";
import { tasksOf, tellTask } from "../../ask-tasks.ts";
import type { Surroundings } from "../../surroundings.ts";
import { styled } from "../../text/styled-text.ts";
import type { AddCommand } from "../add-command.ts";
import { nameOfUser } from "../agents/order-agent.ts";

/** What a person decides about tasks. */
export const addTaskOrders: AddCommand = (tasks, here, finish) => {
  addAdd(tasks, here, finish);
  addOrder(tasks, here, { name: "cancel", what: "nobody is to do it any more", give: (rouse) => rouse.cancelTask });
  addReassign(tasks, here, finish);
  addOrder(tasks, here, {
    name: "block",
    what: "nobody is to go on before a person says so",
    give: (rouse) => rouse.blockTask,
  });
  addOrder(tasks, here, { name: "unblock", what: "it may go on", give: (rouse) => rouse.unblockTask });
  addOrder(tasks, here, {
    name: "retry",
    what: "try again what failed or was cancelled",
    give: (rouse) => rouse.retryTask,
  });
  addTrust(tasks, here, finish);
};

interface AddOptions {
  readonly title?: string;
  readonly priority?: TaskPriority;
  readonly timeout?: DurationMs;
  readonly onTimeout?: OnTimeout;
  readonly dependsOn?: readonly string[];
  readonly owner?: string;
  readonly json?: true;
}

const addAdd: AddCommand = (tasks, here) => {
  tasks
    .command("add")
    .description("a new task")
    .argument("<id>", "1 to 128 letters, digits or . _ : @ + -")
    .option("--title <text>", "what is to be done")
    .addOption(new Option("--priority <priority>", "how urgent (default: normal)").choices(TaskPriority.options))
    .option("--timeout <duration>", "how long one agent may take, such as 2h", readTimeout)
    .addOption(new Option("--on-timeout <what>", "and then (default: reassign)").choices(OnTimeout.options))
    .option("--depends-on <ids>", "what must be completed first, by commas", readIds)
    .option("--owner <name>", "who is named when it stalls, is late or needs a person")
    .option("--json", "print one JSON document")
    .action(async (taskId: string, { timeout, dependsOn, json, ...rest }: AddOptions) => {
      const task = await (await tasksOf(here)).createTask({
        taskId,
        actor: nameOfUser(),
        ...rest,
        ...(timeout === undefined ? {} : { timeoutMinutes: timeout / minutes(1) }),
        ...(dependsOn === undefined ? {} : { dependsOn: [...dependsOn] }),
      });
      tellTask(here, task, json ? { json } : {});
    });
};

interface OrderOptions {
  readonly reason?: string;
  readonly json?: true;
}

interface Order {
  readonly name: string;
  readonly what: string;
  readonly give: (rouse: TaskCalls) => (taskId: string, order: object) => Promise<TaskReport>;
}

function addOrder(tasks: Command, here: Surroundings, { name, what, give }: Order): void {
  withReason(tasks.command(name).description(what)).action(async (id: string, options: OrderOptions) =>
    tellTask(here, await give(await tasksOf(here))(id, byUser(options)), options),
  );
}

const addReassign: AddCommand = (tasks, here) => {
  withReason(tasks.command("reassign").description("take it from whoever has it, for one agent or for any"))
    .option("--to <agent>", "only this agent may have it")
    .action(async (id: string, { to, ...options }: OrderOptions & { to?: string }) => {
      const order = { ...byUser(options), ...(to === undefined ? {} : { to }) };
      tellTask(here, await (await tasksOf(here)).reassignTask(id, order), options);
    });
};

const addTrust: AddCommand = (tasks, here) => {
  tasks
    .command("trust")
    .description("give an agent whose tasks failed as many as the others again")
    .argument("<agent>", "id of an agent")
    .option("--reason <text>", "for the record")
    .option("--json", "print one JSON document")
    .action(async (agentId: string, options: OrderOptions) => {
      const assignments = await (await tasksOf(here)).restoreAssignments(agentId, byUser(options));
      if (options.json) here.printJson(assignments);
      else here.print([[styled("bold", agentId), " may have tasks like any other again."]]);
    });
};

const withReason = (command: Command): Command =>
  command
    .argument("<id>", "id of a task")
    .option("--reason <text>", "for the record")
    .option("--json", "print one JSON document");

const byUser = ({ reason }: OrderOptions) => ({
  actor: nameOfUser(),
  ...(reason === undefined ? {} : { reason }),
});

const longest = minutes(43_200);

function readTimeout(text: string): DurationMs {
  const duration = parseDuration(text);
  if (duration !== null && duration > 0 && duration <= longest) return duration;
  throw new InvalidArgumentError("Expected a duration such as 90m or 2h, at most 30d.");
}

const readIds = (text: string): string[] =>
  text
    .split(",")
    .map((id) => id.trim())
    .filter((id) => id !== "");
