/** Whole runs in the programs' documented shapes, with retries, limits, sub-agents and failures. */

const request = (id: string, output_tokens: number) => ({
  id,
  role: "assistant",
  model: "claude-opus-4-5",
  stop_reason: null,
  usage: {
    input_tokens: 12,
    cache_creation_input_tokens: id === "msg_1" ? 1_298 : 0,
    cache_read_input_tokens: 50_000,
    output_tokens,
  },
});

/** Read at 1,800,000,000 s after 1970. */
export const claudeLines: readonly object[] = [
  {
    type: "system",
    subtype: "init",
    session_id: "5c7e",
    model: "claude-opus-4-5",
    tools: ["Bash", "Task"],
    mcp_servers: [{ name: "files", status: "connected" }],
    permissionMode: "default",
    claude_code_version: "2.1.230",
  },
  {
    type: "system",
    subtype: "api_retry",
    attempt: 1,
    max_retries: 10,
    retry_delay_ms: 612.5,
    error_status: 529,
    error: "overloaded",
  },
  { type: "system", subtype: "thinking_tokens", estimated_tokens: 120, estimated_tokens_delta: 40 },
  {
    type: "assistant",
    message: {
      ...request("msg_1", 2),
      content: [
        { type: "thinking", thinking: "Hm." },
        { type: "text", text: "I will run the tests." },
      ],
    },
    parent_tool_use_id: null,
    session_id: "5c7e",
  },
  {
    type: "assistant",
    message: {
      ...request("msg_1", 40),
      content: [{ type: "tool_use", id: "toolu_1", name: "Bash", input: { timeout: 300_000, command: "npm test" } }],
    },
    parent_tool_use_id: null,
  },
  {
    type: "tool_progress",
    tool_use_id: "toolu_1",
    tool_name: "Bash",
    parent_tool_use_id: null,
    elapsed_time_seconds: 30,
    heartbeat: true,
  },
  {
    type: "user",
    message: {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "toolu_1", is_error: true, content: "Exit code 1\n2 failed" }],
    },
    parent_tool_use_id: null,
    tool_use_result: "Error: Exit code 1",
  },
  {
    type: "assistant",
    message: {
      ...request("msg_2", 98),
      content: [{ type: "tool_use", id: "toolu_2", name: "Task", input: { prompt: "find it", description: "look" } }],
    },
    parent_tool_use_id: null,
  },
  {
    type: "assistant",
    message: {
      ...request("msg_sub", 488),
      content: [{ type: "tool_use", id: "toolu_3", name: "Grep", input: { pattern: "x" } }],
    },
    parent_tool_use_id: "toolu_2",
  },
  {
    type: "user",
    message: { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_3", content: "none" }] },
    parent_tool_use_id: "toolu_2",
  },
  {
    type: "tool_progress",
    tool_use_id: "toolu_2",
    tool_name: "Task",
    parent_tool_use_id: null,
    elapsed_time_seconds: 31,
    subagent_retry: { attempt: 2, max_retries: 10, retry_delay_ms: 4000, error_category: "overloaded" },
  },
  {
    type: "user",
    message: {
      role: "user",
      content: [{ tool_use_id: "toolu_2", type: "tool_result", content: [{ type: "text", text: "found" }] }],
    },
    parent_tool_use_id: null,
  },
  { type: "system", subtype: "status", status: "compacting" },
  { type: "system", subtype: "compact_boundary", compact_metadata: { trigger: "auto", pre_tokens: 155_000 } },
  {
    type: "rate_limit_event",
    rate_limit_info: { status: "allowed_warning", resetsAt: 1_800_000_090, utilization: 0.92 },
  },
  { type: "rate_limit_event", rate_limit_info: { status: "rejected", resetsAt: 1_800_000_090, utilization: 1 } },
  { type: "stream_event", event: { type: "content_block_delta", delta: { type: "text_delta", text: "All" } } },
  {
    type: "assistant",
    message: { ...request("msg_3", 8), stop_reason: "end_turn", content: [{ type: "text", text: "All tests pass." }] },
    parent_tool_use_id: null,
  },
  {
    type: "result",
    subtype: "success",
    is_error: false,
    num_turns: 4,
    duration_ms: 65_000,
    duration_api_ms: 41_000,
    result: "All tests pass.",
    total_cost_usd: 0.21,
    usage: {
      input_tokens: 36,
      cache_creation_input_tokens: 1_298,
      cache_read_input_tokens: 150_000,
      output_tokens: 150,
    },
    modelUsage: {
      "claude-opus-4-5": {
        inputTokens: 48,
        outputTokens: 754,
        cacheCreationInputTokens: 1_298,
        cacheReadInputTokens: 200_000,
      },
    },
    permission_denials: [],
  },
];

export const codexLines: readonly object[] = [
  { type: "thread.started", thread_id: "0199a213" },
  { type: "turn.started" },
  { type: "item.completed", item: { id: "item_0", type: "reasoning", text: "**Looking**" } },
  {
    type: "item.started",
    item: {
      id: "item_1",
      type: "command_execution",
      command: "bash -lc 'npm test'",
      aggregated_output: "",
      exit_code: null,
      status: "in_progress",
    },
  },
  {
    type: "item.updated",
    item: {
      id: "item_1",
      type: "command_execution",
      command: "bash -lc 'npm test'",
      aggregated_output: "…",
      exit_code: null,
      status: "in_progress",
    },
  },
  {
    type: "item.completed",
    item: {
      id: "item_1",
      type: "command_execution",
      command: "bash -lc 'npm test'",
      aggregated_output: "2 failed\n",
      exit_code: 1,
      status: "failed",
    },
  },
  { type: "item.started", item: { id: "item_2", type: "todo_list", items: [{ text: "fix", completed: false }] } },
  {
    type: "item.completed",
    item: { id: "item_3", type: "file_change", changes: [{ path: "a.ts", kind: "update" }], status: "completed" },
  },
  { type: "error", message: "Reconnecting... 1/5 (stream disconnected before completion)" },
  {
    type: "item.started",
    item: {
      id: "item_4",
      type: "mcp_tool_call",
      server: "docs",
      tool: "search",
      arguments: { q: "x", limit: 3 },
      status: "in_progress",
    },
  },
  {
    type: "item.started",
    item: {
      id: "item_5",
      type: "collab_tool_call",
      tool: "spawn_agent",
      sender_thread_id: "0199a213",
      receiver_thread_ids: [],
      prompt: "look",
      agents_states: {},
      status: "in_progress",
    },
  },
  {
    type: "item.completed",
    item: {
      id: "item_4",
      type: "mcp_tool_call",
      server: "docs",
      tool: "search",
      arguments: { q: "x", limit: 3 },
      result: null,
      error: { message: "no such index" },
      status: "failed",
    },
  },
  {
    type: "item.completed",
    item: {
      id: "item_5",
      type: "collab_tool_call",
      tool: "spawn_agent",
      sender_thread_id: "0199a213",
      receiver_thread_ids: ["0199a214"],
      prompt: "look",
      agents_states: { "0199a214": { status: "running", message: null } },
      status: "completed",
    },
  },
  { type: "item.completed", item: { id: "item_6", type: "web_search", query: "vitest", action: { type: "search" } } },
  { type: "item.completed", item: { id: "item_7", type: "agent_message", text: "Fixed." } },
  {
    type: "turn.completed",
    usage: { input_tokens: 24_000, cached_input_tokens: 20_000, output_tokens: 500, reasoning_output_tokens: 320 },
  },
  { type: "turn.started" },
  { type: "error", message: "You've hit your usage limit. Try again in 2 hours 5 minutes." },
  { type: "turn.failed", error: { message: "You've hit your usage limit. Try again in 2 hours 5 minutes." } },
];

const at = "2026-08-22T10:00:00.000Z";

export const geminiLines: readonly object[] = [
  { type: "init", timestamp: at, session_id: "b1f0", model: "gemini-3-pro" },
  { type: "message", timestamp: at, role: "user", content: "Fix the tests" },
  { type: "message", timestamp: at, role: "assistant", content: "I will ", delta: true },
  { type: "message", timestamp: at, role: "assistant", content: "look.", delta: true },
  {
    type: "tool_use",
    timestamp: at,
    tool_name: "read_file",
    tool_id: "read_file-1",
    parameters: { path: "a.ts", from: 1 },
  },
  {
    type: "tool_use",
    timestamp: at,
    tool_name: "run_shell_command",
    tool_id: "shell-2",
    parameters: { command: "npm test" },
  },
  { type: "tool_result", timestamp: at, tool_id: "read_file-1", status: "success", output: "text" },
  {
    type: "tool_result",
    timestamp: at,
    tool_id: "shell-2",
    status: "error",
    error: { type: "EXECUTION_FAILED", message: "exit 1" },
  },
  { type: "error", timestamp: at, severity: "warning", message: "Loop detected, stopping execution" },
  { type: "error", timestamp: at, severity: "error", message: "You exceeded your current quota. Please retry in 34s." },
  { type: "message", timestamp: at, role: "assistant", content: "Done." },
  {
    type: "result",
    timestamp: at,
    status: "success",
    stats: {
      total_tokens: 900,
      input_tokens: 700,
      output_tokens: 150,
      cached: 100,
      input: 600,
      duration_ms: 5000,
      tool_calls: 2,
    },
  },
];
