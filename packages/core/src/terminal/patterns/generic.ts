import { patternsOf, type ShippedFamily } from "./shipped.ts";

export const generic: ShippedFamily = {
  hint: /error|npm ERR|exception|\b429\b|rate.?limit|(?:session|weekly|5-hour) limit|quota|usage limit|overloaded|fatal|panic|traceback|not found|\*\*\*|context|critical|^E[A-Z]{3}|curl: \(|failed|failure|refused|denied|No such |a directory|No space|No module|Read-only|not permitted|ssh: |wget: |Docker daemon|^go: |Segmentation|ERR_PNPM|Applied edit|(?:Edit|Update|Write|Create|Read)\(/i,
  patterns: [
    ...patternsOf("rate-limit", {
      "http-429":
        /^(?:[\w. ]{1,60}: ){0,3}(?:HTTP(?:\/[\d.]{1,3})? |status(?: code)?:? )?429:? (?:Too Many Requests|RESOURCE_EXHAUSTED)\b/i,
      "status-code-429": /^(?:[\w.]{1,80}: ){1,3}(?:Request failed with status code|Error code:) (?:429|529)\b/,
      "error-code-429": /^Error code: (?:429|529) - /,
      "rate-limit-error": /^[\w.]{0,80}\bRateLimitError: \S/,
      "provider-rate-limit": /^(?:[\w. ]{1,60}: ){0,3}Rate limit reached for \S{1,60} (?:\(|in org|on )/,
      "rate-limit-retry":
        /^(?:[\w. ]{1,60}: ){0,3}(?:API )?(?:rate[ -]?limit(?:ed| exceeded| reached| hit)|too many requests)\b.{0,80}\b(?:(?:again|retry|retrying) (?:in|after) \d|try again later)/i,
      // What known programs say when they run inside somebody's script.
      "api-error-429": /^(?:[\w. ]{1,60}: ){0,2}API Error:? (?:429|529)\b/,
      "usage-limit":
        /^(?:[\w. ]{1,60}: ){0,2}(?:You(?:'ve| have) (?:hit|reached) your (?:usage|session|weekly|5-hour) limit|(?:Claude AI )?usage limit reached[.|])/i,
      "quota-exceeded":
        /^(?:[\w. ]{1,60}: ){0,3}(?:You exceeded your current quota, please|Quota exceeded for (?:quota )?metric\b)/,
      overloaded:
        /^(?:[\w. ]{1,60}: ){0,3}(?:(?:529:? )?(?:Overloaded|overloaded_error)(?=\s*$|[.,:;] ?(?:please|try|retry))|The model is overloaded\. Please)/i,
    }),
    {
      kind: "asks-permission",
      name: "yes-or-no",
      pattern: /[[(](?:y[/,]n[a-z?/,]{0,24}|yes\/no(?:\/\[fingerprint\])?|y|yes)[\])]\s?[:?>]?\s*$/i,
      atCursor: true,
    },
    ...patternsOf(
      "asks-question",
      {
        password: /^.{0,120}\b(?:password|passphrase|passcode|PIN)\b[^:]{0,120}:\s*$/i,
        "press-a-key": /\b(?:press|hit) (?:any key|enter|return|\[?enter\]?|<enter>)(?: to [\w ]{1,40})?[\s.…:]{0,8}$/i,
      },
      { atCursor: true },
    ),
    { kind: "asks-question", name: "question-mark", pattern: /^\? \S.{0,200}(?:[:?›»]|\))\s*$/, atCursor: true },
    { kind: "error", name: "traceback", pattern: /^Traceback \(most recent call last\):/, tellsNext: true },
    {
      kind: "error",
      name: "rust-panic",
      pattern: /^thread '[^']{1,80}' (?:\(\d{1,12}\) )?panicked at /,
      tellsNext: true,
    },
    ...patternsOf("error", {
      panic: /^(?:panic|fatal error|fatal): \S/,
      "named-error": /^(?:Uncaught )?[\w$.]{0,120}(?:Error|Exception)(?: \[[A-Z_]{1,60}\])?: \S/,
      "java-exception": /^Exception in thread "/,
      error: /^(?:error|ERROR|FATAL|CRITICAL)(?:\[E?\d{1,6}\]| TS\d{1,6})?: \S/,
      "logged-error": /^\[?\d{4}-\d\d-\d\d[T ][\d:.,Z+-]{5,20}\]?\s{1,4}\[?(?:ERROR|FATAL|CRITICAL|error|fatal)\b/,
      "compiler-error": /^[^\s:()]{1,200}(?:\(\d{1,7},\d{1,7}\)|:\d{1,7}:\d{1,7}): (?:fatal )?error(?: TS\d{1,6})?: /,
      "system-error": /^E[A-Z]{3,20}: [a-z]/,
      "npm-error": /^npm (?:ERR!|error) \S/,
      "make-error": /^g?make(?:\[\d{1,4}\])?: \*\*\* /,
      "curl-error": /^curl: \(\d{1,3}\) \S/,
      "wget-error":
        /^(?:(?:Connecting to|Resolving) \S.{0,200}\.{3} failed: \S|wget: (?:unable to|can't|server returned|bad|error) )/,
      "ssh-error":
        /^(?:ssh: (?:connect to host|Could not resolve hostname) \S|\S{1,120}: Permission denied \((?:publickey|password|keyboard-interactive|gssapi)|Host key verification failed\.$)/,
      "rsync-error": /^rsync error: \S/,
      // "jq: error: …", "cc1: fatal error: …", "psql: error: …".
      "program-error": /^[a-z][\w.+-]{0,40}: (?:fatal )?error(?: \([^()]{1,60}\))?: \S/,
      // "cat: x: No such file or directory", "bash: line 1: ./x: Permission denied": a command, its object, the
      // system's message.
      "tool-error":
        /^[a-z./][\w./+-]{0,120}: .{1,300}: (?:\[Errno \d{1,3}\] )?(?:No such file or directory|No such process|Permission denied|Operation not permitted|Not a directory|Is a directory|No space left on device|Read-only file system|Connection refused)$/,
      "python-module": /^\S{0,200}python[\d.]{0,8}: No module named \S/,
      "docker-error":
        /^(?:ERROR: )?(?:Cannot connect to the Docker daemon at|(?:docker: )?Error response from daemon:) \S/,
      "kubectl-error": /^(?:The connection to the server \S{1,200} was refused\b|Error from server \(\w{1,40}\): )/,
      "aws-error": /^An error occurred \(\w{1,60}\) when calling the \w{1,80} operation\b/,
      "go-error": /^go: (?:cannot find|no such|errors parsing|unknown|module) \S/,
      "build-failure": /^(?:FAILURE: Build failed with an exception\b|\[ERROR\] \S)/,
      "yarn-error": /^error (?:Command failed with exit code \d|Couldn't find |An unexpected error occurred\b)/,
      "pnpm-error": /^(?:ERR_PNPM_[A-Z_]{1,60}\s|ELIFECYCLE\s{1,4}Command failed\b)/,
      "segmentation-fault":
        /^(?:\S{1,80}: line \d{1,7}:\s{1,4}\d{1,9} )?Segmentation fault(?:\s{1,12}\(core dumped\).{0,200})?$/,
      "command-not-found":
        /^\S{1,80}: (?:line \d{1,7}: |\d{1,7}: )?(?:\S{1,80}: (?:command )?not found$|command not found: \S{1,80}$)/,
    }),
    {
      kind: "context-limit",
      name: "context-length",
      pattern:
        /^.{0,200}(?:\bThis model's maximum context length is \d|\bYour input exceeds the context window\b|\bprompt is too long: \d{1,9} tokens)/,
    },
    ...patternsOf("file", {
      "tool-file": /^(?:Edit|Update|Write|Create|Read)\(([^()]{1,300})\)/,
      "applied-edit": /^Applied edit to (\S{1,300})$/,
    }),
  ],
};
