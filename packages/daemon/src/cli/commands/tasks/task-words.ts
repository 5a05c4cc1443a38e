import type { TaskReport } from "@rouse/contract";
import type { TaskCalls } from "@rouse/sdk";
import { type Command, Option } from "commander";
import { tasksOf, tellTask } from "../../ask-tasks.ts";
import { exit } from "../../exit-codes.ts";
import type { Surroundings } from "../../surroundings.ts";
import type { AddCommand } from "../add-command.ts";
import { readWhole } from "../read-whole.ts";

/** What an agent says of its tasks, or somebody in its name. */
export const addTaskWords: AddCommand = (tasks, here, finish) => {
  addClaim(tasks, here, finish);
  addUpdate(tasks, here, finish);
  addRefresh(tasks, here, finish);
  addWord(tasks, here, { name: "complete", what: "it is done", say: (rouse) => rouse.completeTask });
  addWord(tasks, here, { name: "fail", what: "it cannot be done", say: (rouse) => rouse.failTask });
  addWord(tasks, here, {
    name: "release",
    what: "give it back, so that another agent can have it",
    say: (rouse) => rouse.releaseTask,
  });
};

interface Speaking {
  readonly agent?: string;
  readonly claim?: number;
  readonly note?: string;
  readonly json?: true;
}

const addClaim: AddCommand = (tasks, here, finish) => {
  tasks
    .command("claim")
    .description("take a task for an agent, or the most urgent one")
    .argument("[id]", "id of a task")
    .option("--next", "whatever is most urgent and ready")
    .option("--agent <id>", "for whom (default: $ROUSE_AGENT_ID)")
    .option("--json", "print one JSON document")
    .addHelpText("after", "\nEnds with 1 when --next finds nothing to do.")
    .action(async (id: string | undefined, options: Speaking & { next?: true }, command: Command) => {
      if ((id === undefined) === (options.next === undefined)) command.error("error: give an id or --next");
      const agentId = mustName(here, options, command);
      const rouse = await tasksOf(here);
      const task = id === undefined ? await rouse.claimNextTask(agentId) : await rouse.claimTask(id, agentId);
      if (task !== null) return tellTask(here, task, options);
      if (options.json) here.printJson({ task });
      else here.print([["There is nothing to do."]]);
      finish(exit.wrong);
    });
};

const addUpdate: AddCommand = (tasks, here) => {
  withSpeaker(tasks.command("update").description("it goes on, or cannot without a person"))
    .addOption(new Option("--status <status>", "how it goes on").choices(["running", "blocked"]))
    .action(async (id: string, options: Speaking & { status?: "running" | "blocked" }, command: Command) => {
      const { status } = options;
      const said = { ...speakerOf(here, options, command), ...(status === undefined ? {} : { status }) };
      tellTask(here, await (await tasksOf(here)).updateTask(id, said), options);
    });
};

const addRefresh: AddCommand = (tasks, here) => {
  withClaim(tasks.command("refresh").description("the claim is still meant; that is no work")).action(
    async (id: string, options: Speaking, command: Command) => {
      const said = speakerOf(here, options, command);
      tellTask(here, await (await tasksOf(here)).refreshTask(id, said), options);
    },
  );
};

interface Word {
  readonly name: string;
  readonly what: string;
  readonly say: (rouse: TaskCalls) => (taskId: string, by: object) => Promise<TaskReport>;
}

function addWord(tasks: Command, here: Surroundings, { name, what, say }: Word): void {
  withSpeaker(tasks.command(name).description(what)).action(async (id: string, options: Speaking, command: Command) => {
    const said = speakerOf(here, options, command);
    tellTask(here, await say(await tasksOf(here))(id, said), options);
  });
}

const withSpeaker = (command: Command): Command =>
  withClaim(command).option("--note <text>", "what else there is to say");

const withClaim = (command: Command): Command =>
  command
    .argument("<id>", "id of a task")
    .option("--agent <id>", "who says so (default: $ROUSE_AGENT_ID)")
    .option("--claim <n>", "the number of its claim", readWhole(1, Number.MAX_SAFE_INTEGER))
    .option("--json", "print one JSON document");

function speakerOf(here: Surroundings, options: Speaking, command: Command) {
  const { claim, note } = options;
  return {
    agentId: mustName(here, options, command),
    ...(claim === undefined ? {} : { claim }),
    ...(note === undefined ? {} : { note }),
  };
}

function mustName(here: Surroundings, { agent }: Speaking, command: Command): string {
  return agent ?? here.environment["ROUSE_AGENT_ID"] ?? command.error("error: say for which agent, with --agent");
}
