import { type AgentFamily, agentFamilies, type PatternKind } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { aider } from "./patterns/aider.ts";
import { claudeCode } from "./patterns/claude-code.ts";
import { codex } from "./patterns/codex.ts";
import { geminiCli } from "./patterns/gemini-cli.ts";
import { generic } from "./patterns/generic.ts";
import { opencode } from "./patterns/opencode.ts";
import { matchLine, patternsFor } from "./patterns.ts";

/** Lines that programs really print, under the pattern that must find them. Screen patterns are tested with screens. */
const found: Record<AgentFamily, Record<string, readonly string[]>> = {
  "claude-code": {
    "claude-limit-hit": [
      "You've hit your limit · resets 4:50am (Europe/Rome)",
      "  ⎿  You've hit your session limit · resets 12:50am (America/Los_Angeles)",
      "You’ve reached your Opus weekly limit.",
    ],
    "claude-usage-limit": [
      "Claude AI usage limit reached|1731672000",
      "Claude usage limit reached. Your limit will reset at 3pm (Europe/Berlin).",
    ],
    "claude-window-limit": ["5-hour limit reached ∙ resets 3pm", " ⎿ Weekly limit reached · resets Oct 24 at 3pm"],
    "claude-api-429": [
      '  ⎿  API Error: 429 {"type":"error","error":{"type":"rate_limit_error"}}',
      "API Error: Request rejected (429)",
    ],
    "claude-api-529": [
      "API Error (529 Overloaded) · Retrying in 5 seconds… (attempt 3/10)",
      "● API Error: Repeated 529 Overloaded errors",
    ],
    "claude-continues": [
      "● Usage limit reached · continuing automatically at 7:17pm · esc to cancel",
      "  ⚠ Usage limit reached · limit resets 7:17pm",
    ],
    "claude-api-overloaded": ['API Error: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'],
    "claude-api-rate-limited": [
      "API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited",
    ],
    "claude-no-connection": [" Unable to connect to Anthropic services"],
    "claude-api-error": [
      "API Error: 500 Internal server error",
      "  ⎿  API Error (Connection error.) · Retrying in 2 seconds… (attempt 2/10)",
    ],
    "claude-context-low": [
      "Context low (3% remaining) · Run /compact to compact & continue",
      "  ? for shortcuts                 Context left until auto-compact: 0%",
    ],
    "claude-context-limit": ["  ⎿  Context limit reached · /compact or /clear to continue"],
    "claude-too-long": [
      "Prompt is too long",
      "● Prompt is too long · Run /compact",
      'API Error: 400 {"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}',
      "Conversation too long. Press esc twice to go up a few messages and try again.",
    ],
    "claude-file": ["● Update(src/a.ts)", "⏺ Edit(src/a b.ts)", "Read(/tmp/x)", "  Write(a.md)"],
  },
  codex: {
    "codex-usage-limit": [
      "■ You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 4 days.",
      "ERROR: You've hit your usage limit.",
    ],
    "codex-retry-limit": ["■ exceeded retry limit, last status: 429 Too Many Requests, request id: abc"],
    "codex-status-429": ["stream error: unexpected status 429 Too Many Requests; retrying 1/5 in 200ms…"],
    "codex-rate-limit": [
      "■ stream disconnected before completion: Rate limit reached for gpt-5 in organization org-1 on tokens per min",
    ],
    "codex-at-capacity": ["■ Selected model is at capacity. Please try a different model."],
    "codex-out-of-room": ["■ Codex ran out of room in the model's context window. Start a new thread"],
    "codex-file-changed": ["• Edited src/a.ts (+3 -1)", "  └ Added src/b.ts (+10 -0)"],
    "codex-file-read": ["  └ Read src/a.ts"],
  },
  "gemini-cli": {
    "gemini-api-429": [
      '✕ [API Error: {"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED"}}]',
      "✕ [API Error: You exceeded your current quota, please check your plan and billing details.]",
      "[API Error: The model is overloaded. Please try again later.]",
    ],
    "gemini-attempt-429": ["Attempt 1 failed with status 429. Retrying with backoff..."],
    "gemini-usage-limit": ["│ Usage limit reached for gemini-3-pro.", "Usage limit reached for all Pro models."],
    "gemini-high-demand": ["We are currently experiencing high demand."],
    "gemini-api-error": ["✕ [API Error: fetch failed]"],
    "gemini-token-count": [
      "✕ [API Error: The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).]",
    ],
    "gemini-context-window": [
      "⚠ Sending this message (130000 tokens) might exceed the remaining context window limit (100 tokens).",
    ],
    "gemini-file": ["│ ✓  Edit src/a.ts: foo => bar", "✔  WriteFile Writing to src/b.ts", "✓  ReadFile src/a.ts"],
  },
  aider: {
    "aider-rate-limit-error": ["litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached"],
    "aider-overloaded": ['litellm.InternalServerError: AnthropicException - {"error":{"type":"overloaded_error"}}'],
    "aider-provider-says": [
      "The API provider has rate limited you. Try again later or check your quotas.",
      "The API provider's servers are down or overloaded.",
    ],
    "aider-litellm-error": ["litellm.APIConnectionError: Cannot connect", "litellm.exceptions.AuthenticationError: no"],
    "aider-edit-failed": ["# 1 SEARCH/REPLACE block failed to match!", "2 SEARCH/REPLACE blocks failed to match!"],
    "aider-token-limit": [
      "Model gpt-4o has hit a token limit!",
      "Your estimated chat context of 132,000 tokens exceeds the 128,000 token limit for gpt-4o!",
    ],
    "aider-context-exceeded": ["litellm.ContextWindowExceededError: litellm.BadRequestError: too long"],
    "aider-edit": ["Applied edit to src/a.ts"],
    "aider-added": ["Added src/a.ts to the chat."],
  },
  opencode: {},
  generic: {
    "http-429": [
      "429 Too Many Requests",
      "Error: 429 Too Many Requests",
      "HTTP/1.1 429 Too Many Requests",
      "google.genai.errors.ClientError: 429 RESOURCE_EXHAUSTED. {'error': {'code': 429}}",
    ],
    "status-code-429": [
      "AxiosError: Request failed with status code 429",
      "openai.InternalServerError: Error code: 529 - {'type': 'error'}",
    ],
    "error-code-429": ["Error code: 429 - {'error': {'message': 'slow down'}}"],
    "rate-limit-error": ["anthropic.RateLimitError: slow down", "RateLimitError: 429 slow down"],
    "provider-rate-limit": ["Error: Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM)"],
    "api-error-429": ["API Error: 429 rate_limit_error. Please try again in 20m", "agent: API Error: 529 overloaded"],
    "usage-limit": ["You've reached your weekly limit. Try again at 3pm", "Claude AI usage limit reached|1731672000"],
    "rate-limit-retry": [
      "Rate limit exceeded, retry after 60 seconds",
      "Rate limited. Retrying in 30s",
      "API rate limit exceeded. Please try again later",
      "error: too many requests, try again in 5 minutes",
    ],
    "quota-exceeded": [
      "You exceeded your current quota, please check your plan and billing details.",
      "Error: Quota exceeded for metric: generate_content_requests",
    ],
    overloaded: [
      "Error: Overloaded",
      "Error: 529 overloaded_error",
      "The model is overloaded. Please try again later.",
    ],
    traceback: ["Traceback (most recent call last):"],
    "rust-panic": ["thread 'main' panicked at src/main.rs:4:5:"],
    panic: ["panic: runtime error: index out of range", "fatal: not a git repository", "fatal error: all goroutines"],
    "named-error": [
      "Error: Cannot find module 'x'",
      "  ⎿  Error: Exit code 1",
      "TypeError: undefined is not a function",
      "Uncaught ReferenceError: x is not defined",
      "java.lang.IllegalStateException: no",
      "TypeError [ERR_INVALID_ARG_TYPE]: The path must be",
      "AssertionError: expected 1 to be 2",
    ],
    "java-exception": ['Exception in thread "main" java.lang.NullPointerException'],
    error: [
      "error: failed to push some refs",
      "error[E0308]: mismatched types",
      "ERROR: no space left",
      "error TS18003: No inputs",
    ],
    "logged-error": ["2026-10-21 07:28:00,123 ERROR cannot connect", "[2026-10-21T07:28:00Z] error cannot connect"],
    "compiler-error": [
      "src/a.ts(12,5): error TS2304: Cannot find name 'x'.",
      "main.c:3:10: fatal error: x.h: No such file",
    ],
    "system-error": ["ENOENT: no such file or directory, open 'x'"],
    "npm-error": ["npm ERR! code E404", "npm error Missing script: build"],
    "make-error": ["make: *** [Makefile:3: all] Error 2", "make[1]: *** No rule"],
    "curl-error": [
      "curl: (7) Failed to connect to 127.0.0.1 port 21199 after 0 ms: Couldn't connect to server",
      "curl: (6) Could not resolve host: nope.invalid",
      "curl: (22) The requested URL returned error: 404",
    ],
    "wget-error": [
      "Connecting to 127.0.0.1:21199... failed: Connection refused.",
      "Resolving nope.invalid (nope.invalid)... failed: Name or service not known.",
      "wget: unable to resolve host address 'nope.invalid'",
    ],
    "ssh-error": [
      "ssh: connect to host 127.0.0.1 port 21199: Connection refused",
      "ssh: Could not resolve hostname nope: Name or service not known",
      "git@github.com: Permission denied (publickey).",
      "Host key verification failed.",
    ],
    "rsync-error": [
      "rsync error: some files/attrs were not transferred (see previous errors) (code 23) at main.c(1338)",
    ],
    "tool-error": [
      "cat: /nope: No such file or directory",
      "grep: /nope: No such file or directory",
      "sed: can't read /nope: No such file or directory",
      "ls: cannot access '/nope': No such file or directory",
      "bash: line 1: cd: /nope: No such file or directory",
      "bash: line 1: ./nope.sh: Permission denied",
      "./run.sh: line 3: /dev/full: No space left on device",
      "/root/.pyenv/versions/3.11.7/bin/python3: can't open file '/nope.py': [Errno 2] No such file or directory",
    ],
    "program-error": [
      "jq: error: Could not open file /nope: No such file or directory",
      "jq: error (at <stdin>:1): Cannot index number",
      'psql: error: connection to server on socket "/var/run/postgresql/.s.PGSQL.5432" failed: No such file',
      "cc1: fatal error: nope.c: No such file or directory",
    ],
    "python-module": ["/root/.pyenv/versions/3.11.7/bin/python3: No module named nomod"],
    "docker-error": [
      "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
      "docker: Error response from daemon: pull access denied for nope.",
    ],
    "kubectl-error": [
      "The connection to the server localhost:8080 was refused - did you specify the right host or port?",
      'Error from server (NotFound): pods "x" not found',
    ],
    "aws-error": ["An error occurred (AccessDenied) when calling the ListBuckets operation: Access Denied"],
    "go-error": ["go: cannot find main module, but found .git/config in /tmp/x"],
    "build-failure": ["FAILURE: Build failed with an exception.", "[ERROR] Failed to execute goal on project x"],
    "yarn-error": ["error Command failed with exit code 1."],
    "pnpm-error": ["ERR_PNPM_NO_SCRIPT  Missing script: nope", "ELIFECYCLE  Command failed with exit code 1."],
    "segmentation-fault": [
      "Segmentation fault (core dumped)",
      "bash: line 1: 12345 Segmentation fault      (core dumped) ./a.out",
    ],
    "command-not-found": [
      "bash: foo: command not found",
      "zsh: command not found: foo",
      "sh: 1: foo: not found",
      "./run.sh: line 3: foo: command not found",
    ],
    "context-length": [
      "Error code: 400 - This model's maximum context length is 128000 tokens. However, you requested 130000",
    ],
    "tool-file": ["Edit(src/a.ts)"],
    "applied-edit": ["Applied edit to src/a.ts"],
  },
};

/** Lines that agents show all day and that mean nothing. */
const innocent = [
  "429 tests passed",
  "  Tests  429 passed (429)",
  "// rate limit: 10 per second",
  "const RATE_LIMIT = 10",
  "+  if (status === 429) retry()",
  "+ throw new Error('Error: 429 Too Many Requests')",
  "-Error: Rate limit reached for gpt-4o in organization x",
  "grep -n 'rate limit' src/",
  "src/limit.ts:12:  // rate limit exceeded, retry after 60 seconds",
  "src/limit.ts:12: 429 Too Many Requests",
  "12: 429 Too Many Requests",
  "   12 │ Error: 429 Too Many Requests",
  "    12→Error: Rate limited. Retrying in 30s",
  "     12  Error: Overloaded",
  "✓ handles rate limit errors (12 ms)",
  "✓ Error: bad input is refused (3 ms)",
  "  ✓ Error: bad input is refused",
  " × returns 429 Too Many Requests",
  "√ rate limited. Retrying in 30s",
  "it('Error: rate limit reached', () => {",
  'test("Error: boom", async () => {',
  "expect(error).toBe('Error: 429 Too Many Requests')",
  "The client gets 429 Too Many Requests when it asks too often.",
  "Rate limit exceeded errors are now handled by retrying",
  "I added a rate limit, so that callers try again in 20s.",
  "Rate limits: 10 per second",
  "overloaded method",
  "The overloaded method takes two arguments",
  "Overloaded functions are listed below",
  "Overloaded: two signatures",
  "0 errors",
  "no errors found",
  "Found 0 errors. Watching for file changes.",
  "error handling works",
  "Error handling: works",
  "Errors: none",
  "errors.ts",
  "src/errors.ts",
  "modified:   src/errors.ts",
  "> Error: what the user typed",
  "$ echo 'Error: 1'",
  "# Error: a heading",
  "- Error: a bullet",
  "`Error: in code`",
  "class RateLimitError extends Error {",
  "import { RateLimitError } from './errors.ts';",
  "throw new TypeError('x')",
  "return Error: no",
  "the prompt is too long to remember",
  "Prompt is too long to remember",
  "The conversation is too long for one page.",
  "a larger context window helps",
  "The context window of this model is 200k tokens",
  "Context: the limit reached by the old parser",
  "Context left until auto-compact: 12%",
  "Usage limit reached for the first time in the test above",
  "You've hit your limit of three wishes",
  "You've reached your limits",
  "API Errors are retried",
  "Nothing was not found",
  "page not found",
  "panic is not an option",
  "fatal flaw",
  "Traceback is printed by Python",
  "Exception handling is tested",
  "make: Nothing to be done for 'all'.",
  "curl: a tool to transfer data",
  "curl -sS http://127.0.0.1:21199/status",
  "Connecting to 127.0.0.1:21199... connected.",
  "ssh: the client of OpenSSH",
  "Permission denied (publickey) means that the key is not known",
  "rsync errors are listed below",
  "cat: prints files",
  "cat missing.txt says: No such file or directory",
  "Note: the script said: No such file or directory",
  "It printed No such file or directory",
  "src/a.ts:12: No such file or directory",
  "fix: error handling of the client",
  "jq: errors are printed to stderr",
  "No module named after a person",
  "Cannot connect to the Docker daemon? Then start it.",
  "The connection to the server is kept open",
  "An error occurred (see below)",
  "go: downloading golang.org/x/sys v0.1.0",
  "FAILURE: none",
  "[INFO] BUILD SUCCESS",
  "error codes of yarn",
  "Segmentation fault handling is tested",
  "The npm error codes are listed in the docs",
  "Selected model is at capacity planning",
  "We're currently experiencing the new design",
  "Read the docs",
  "Read carefully",
  "Edited by Ann",
  "Update (later)",
  "Added the file to the chat",
  "Applied edits to three files",
];

const shipped = { "claude-code": claudeCode, codex, "gemini-cli": geminiCli, opencode, aider, generic };
const screenKinds: readonly PatternKind[] = ["asks-permission", "asks-question", "at-prompt"];
const namesIn = (family: AgentFamily, line: string) =>
  matchLine(line, patternsFor(family)).map(({ pattern }) => pattern.name);

describe.each(agentFamilies)("the patterns of %s", (family) => {
  it.each(Object.entries(found[family]))("find %s where it is said", (name, lines) => {
    for (const line of lines) expect(namesIn(family, line), line).toContain(name);
  });

  it("are each shown to find something", () => {
    const names = shipped[family].patterns.filter(({ kind }) => !screenKinds.includes(kind)).map(({ name }) => name);
    expect(Object.keys(found[family]).sort()).toEqual([...names].sort());
  });

  it.each(innocent)("find nothing in: %s", (line) => {
    expect(namesIn(family, line)).toEqual([]);
  });

  it("come with the generic ones, each under one name", () => {
    const names = patternsFor(family).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const shared = generic.patterns.filter(({ kind }) => family === "generic" || kind !== "rate-limit");
    expect(names.filter((name) => generic.patterns.some((each) => each.name === name))).toEqual(
      shared.map(({ name }) => name),
    );
  });
});

describe("shipped expressions", () => {
  const all = Object.values(shipped).flatMap(({ hint, patterns }) => [
    hint,
    ...patterns.flatMap(({ pattern, under }) => (under ? [pattern, under] : [pattern])),
  ]);

  it("repeat nothing without bound inside a repetition", () => {
    for (const { source } of all) expect(source, source).not.toMatch(/[*+][^()]*\)(?:[*+]|\{\d+,\})/);
  });

  it("keep no place between two lines", () => {
    for (const { flags } of all) expect(flags).not.toMatch(/[gy]/);
  });

  it("come back from a line of 100,000 characters made to keep them busy", () => {
    const units = [
      "a",
      " ",
      "a ",
      "a: ",
      "Error",
      "Error: ",
      "API Error: ",
      "1",
      "(",
      "│",
      "─",
      "y/n",
      "password ",
      "a.",
      "❯ 1. ",
    ];
    const starts = [
      "",
      "API Error: ",
      "[API Error: ",
      "? ",
      "│ >",
      "Rate limited ",
      "thread '",
      "(Y)es/(N)o",
      "press enter to ",
    ];
    for (const start of starts) {
      for (const unit of units) {
        const evil = `${start}${unit.repeat(100_000 / unit.length)}!`;
        for (const expression of all) expect(typeof expression.test(evil)).toBe("boolean");
      }
    }
  });
});

describe("a user's pattern", () => {
  it("is given the whole line, quoted or not", () => {
    const mine = { kind: "rate-limit" as const, name: "mine", find: (line: string) => /slow down/.exec(line) };
    expect(matchLine("+ // slow down", [mine, ...patternsFor("codex")]).map(({ pattern }) => pattern.name)).toEqual([
      "mine",
    ]);
  });
});
