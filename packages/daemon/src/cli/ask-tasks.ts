import type { TaskReport } from "@rouse/contract";
import { connectTasks, type TaskCalls } from "@rouse/sdk";
import { findDaemon } from "./find-daemon.ts";
import { describeTask } from "./show/tasks.ts";
import type { Surroundings } from "./surroundings.ts";

/** With whatever token there is: inside an agent that Rouse started it is that agent's own, and it speaks for itself. */
export const tasksOf = async (here: Surroundings): Promise<TaskCalls> => connectTasks(await findDaemon(here));

export function tellTask(here: Surroundings, task: TaskReport, { json }: { readonly json?: true }): void {
  if (json) here.printJson(task);
  else here.print([describeTask(task), ...(task.title === "" ? [] : [[task.title]])]);
}
