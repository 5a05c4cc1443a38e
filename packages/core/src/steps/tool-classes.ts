import type { ToolClass } from "./step.ts";

/**
 * What tools do, by their names in the agent programs we know; names a user adds come first. A tool nobody knows is `other`: it may have changed
 * something, and its repetition is judged by its results.
 */
const byName: Readonly<Record<Exclude<ToolClass, "other">, readonly string[]>> = {
  changes: [
    "edit", "write", "create", "insert", "multiedit", "notebookedit", "str_replace", "str_replace_editor", "str_replace_based_edit_tool", "apply_patch", "file_change",
    "write_file", "replace", "edit_file", "create_file", "delete_file", "append", "undo_edit", "write_to_file", "replace_in_file", "apply_diff", "search_replace",
  ],
  reads: [
    "read", "grep", "glob", "ls", "cat", "open", "goto", "find_file", "search_file", "search_dir", "search", "find", "view", "read_file", "list_directory", "read_many_files",
    "lookup", "webfetch", "websearch", "web_search", "web_fetch", "google_web_search", "list_files", "search_files", "codebase_search", "grep_search", "file_search", "toolsearch",
  ],
  pages: ["scroll_down", "scroll_up", "pagedowntool", "pageuptool", "page_down", "page_up", "findnexttool", "next_page"],
  polls: [
    "bashoutput", "taskoutput", "wait", "sleep", "wait_for", "check_status", "get_status", "poll", "read_terminal", "write_stdin", "wait_agent", "monitor", "kill_shell", "killshell",
  ],
  bookkeeping: [
    "todowrite", "todoread", "taskcreate", "taskupdate", "tasklist", "taskget", "update_plan", "todo_list", "think", "plan", "exitplanmode", "enterplanmode", "write_todos", "save_memory",
    "sequentialthinking", "sequential_thinking", "report_progress", "update_todo_list",
  ],
};

const known: ReadonlyMap<string, ToolClass> = new Map(
  Object.entries(byName).flatMap(([kind, names]) => names.map((name) => [name, kind as ToolClass] as const)),
);

export function classOfTool(tool: string, own: Readonly<Record<string, ToolClass>> = {}): ToolClass {
  return own[tool] ?? known.get(tool.toLowerCase()) ?? "other";
}
