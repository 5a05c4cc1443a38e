import type { ShippedFamily } from "./shipped.ts";

export const generic: ShippedFamily = {
  hint: /error|npm ERR|exception|\b429\b|rate.?limit|(?:session|weekly|5-hour) limit|quota|usage limit|overloaded|fatal|panic|traceback|not found|\*\*\*|context|critical|^E[A-Z]{3}|curl: \(|failed|failure|refused|denied|No such |a directory|No space|No module|Read-only|not permitted|ssh: |wget: |Docker daemon|^go: |Segmentation|ERR_PNPM|Applied edit|(?:Edit|Update|Write|Create|Read)\(/i,
  patterns: [
    {
      kind: "rate-limit",
      name: "http-429",
      pattern:
        /^(?:[\w. ]{1,60}: ){0,3}(?:HTTP(?:\/[\d.]{1,3})? |status(?: code)?:? )?429:? (?:Too Many Requests|RESOURCE_EXHAUSTED)\b/i,
    },
    {
      kind: "rate-limit",
      name: "status-code-429",
      pattern: /^(?:[\w.]{1,80}: ){1,3}(?:Request failed with status code|Error code:) (?:429|529)\b/,
    },
    { kind: "rate-limit", name: "error-code-429", pattern: /^Error code: (?:429|529) - / },
    { kind: "rate-limit", name: "rate-limit-error", pattern: /^[\w.]{0,80}\bRateLimitError: \S/ },
    {
      kind: "rate-limit",
      name: "provider-rate-limit",
      pattern: /^(?:[\w. ]{1,60}: ){0,3}Rate limit reached for \S{1,60} (?:\(|in org|on )/,
    },
    {
      kind: "rate-limit",
      name: "rate-limit-retry",
      pattern:
        /^(?:[\w. ]{1,60}: ){0,3}(?:API )?(?:rate[ -]?limit(?:ed| exceeded| reached| hit)|too many requests)\b.{0,80}\b(?:(?:again|retry|retrying) (?:in|after) \d|try again later)/i,
    },
    // What known programs say when they run inside somebody's script.
    { kind: "rate-limit", name: "api-error-429", pattern: /^(?:[\w. ]{1,60}: ){0,2}API Error:? (?:429|529)\b/ },
    {
      kind: "rate-limit",
      name: "usage-limit",
      pattern:
        /^(?:[\w. ]{1,60}: ){0,2}(?:You(?:'ve| have) (?:hit|reached) your (?:usage|session|weekly|5-hour) limit|(?:Claude AI )?usage limit reached[.|])/i,
    },
    {
      kind: "rate-limit",
      name: "quota-exceeded",
      pattern:
        /^(?:[\w. ]{1,60}: ){0,3}(?:You exceeded your current quota, please|Quota exceeded for (?:quota )?metric\b)/,
    },
    {
      kind: "rate-limit",
      name: "overloaded",
      pattern:
        /^(?:[\w. ]{1,60}: ){0,3}(?:(?:529:? )?(?:Overloaded|overloaded_error)(?=\s*$|[.,:;] ?(?:please|try|retry))|The model is overloaded\. Please)/i,
    },
    {
      kind: "asks-permission",
      name: "yes-or-no",
      pattern: /[[(](?:y[/,]n[a-z?/,]{0,24}|yes\/no(?:\/\[fingerprint\])?|y|yes)[\])]\s?[:?>]?\s*$/i,
      atCursor: true,
    },
    {
      kind: "asks-question",
      name: "password",
      pattern: /^.{0,120}\b(?:password|passphrase|passcode|PIN)\b[^:]{0,120}:\s*$/i,
      atCursor: true,
    },
    {
      kind: "asks-question",
      name: "press-a-key",
      pattern: /\b(?:press|hit) (?:any key|enter|return|\[?enter\]?|<enter>)(?: to [\w ]{1,40})?[\s.…:]{0,8}$/i,
      atCursor: true,
    },
    { kind: "asks-question", name: "question-mark", pattern: /^\? \S.{0,200}(?:[:?›»]|\))\s*$/, atCursor: true },
    { kind: "error", name: "traceback", pattern: /^Traceback \(most recent call last\):/, tellsNext: true },
    {
      kind: "error",
      name: "rust-panic",
      pattern: /^thread '[^']{1,80}' (?:\(\d{1,12}\) )?panicked at /,
      tellsNext: true,
    },
    { kind: "error", name: "panic", pattern: /^(?:panic|fatal error|fatal): \S/ },
    {
      kind: "error",
      name: "named-error",
      pattern: /^(?:Uncaught )?[\w$.]{0,120}(?:Error|Exception)(?: \[[A-Z_]{1,60}\])?: \S/,
    },
    { kind: "error", name: "java-exception", pattern: /^Exception in thread "/ },
    { kind: "error", name: "error", pattern: /^(?:error|ERROR|FATAL|CRITICAL)(?:\[E?\d{1,6}\]| TS\d{1,6})?: \S/ },
    {
      kind: "error",
      name: "logged-error",
      pattern: /^\[?\d{4}-\d\d-\d\d[T ][\d:.,Z+-]{5,20}\]?\s{1,4}\[?(?:ERROR|FATAL|CRITICAL|error|fatal)\b/,
    },
    {
      kind: "error",
      name: "compiler-error",
      pattern: /^[^\s:()]{1,200}(?:\(\d{1,7},\d{1,7}\)|:\d{1,7}:\d{1,7}): (?:fatal )?error(?: TS\d{1,6})?: /,
    },
    { kind: "error", name: "system-error", pattern: /^E[A-Z]{3,20}: [a-z]/ },
    { kind: "error", name: "npm-error", pattern: /^npm (?:ERR!|error) \S/ },
    { kind: "error", name: "make-error", pattern: /^g?make(?:\[\d{1,4}\])?: \*\*\* / },
    { kind: "error", name: "curl-error", pattern: /^curl: \(\d{1,3}\) \S/ },
    {
      kind: "error",
      name: "wget-error",
      pattern:
        /^(?:(?:Connecting to|Resolving) \S.{0,200}\.{3} failed: \S|wget: (?:unable to|can't|server returned|bad|error) )/,
    },
    {
      kind: "error",
      name: "ssh-error",
      pattern:
        /^(?:ssh: (?:connect to host|Could not resolve hostname) \S|\S{1,120}: Permission denied \((?:publickey|password|keyboard-interactive|gssapi)|Host key verification failed\.$)/,
    },
    { kind: "error", name: "rsync-error", pattern: /^rsync error: \S/ },
    // "jq: error: …", "cc1: fatal error: …", "psql: error: …".
    {
      kind: "error",
      name: "program-error",
      pattern: /^[a-z][\w.+-]{0,40}: (?:fatal )?error(?: \([^()]{1,60}\))?: \S/,
    },
    // "cat: x: No such file or directory", "bash: line 1: ./x: Permission denied": a command, its object, the system's
    // message.
    {
      kind: "error",
      name: "tool-error",
      pattern:
        /^[a-z./][\w./+-]{0,120}: .{1,300}: (?:\[Errno \d{1,3}\] )?(?:No such file or directory|No such process|Permission denied|Operation not permitted|Not a directory|Is a directory|No space left on device|Read-only file system|Connection refused)$/,
    },
    { kind: "error", name: "python-module", pattern: /^\S{0,200}python[\d.]{0,8}: No module named \S/ },
    {
      kind: "error",
      name: "docker-error",
      pattern: /^(?:ERROR: )?(?:Cannot connect to the Docker daemon at|(?:docker: )?Error response from daemon:) \S/,
    },
    {
      kind: "error",
      name: "kubectl-error",
      pattern: /^(?:The connection to the server \S{1,200} was refused\b|Error from server \(\w{1,40}\): )/,
    },
    {
      kind: "error",
      name: "aws-error",
      pattern: /^An error occurred \(\w{1,60}\) when calling the \w{1,80} operation\b/,
    },
    { kind: "error", name: "go-error", pattern: /^go: (?:cannot find|no such|errors parsing|unknown|module) \S/ },
    { kind: "error", name: "build-failure", pattern: /^(?:FAILURE: Build failed with an exception\b|\[ERROR\] \S)/ },
    {
      kind: "error",
      name: "yarn-error",
      pattern: /^error (?:Command failed with exit code \d|Couldn't find |An unexpected error occurred\b)/,
    },
    { kind: "error", name: "pnpm-error", pattern: /^(?:ERR_PNPM_[A-Z_]{1,60}\s|ELIFECYCLE\s{1,4}Command failed\b)/ },
    {
      kind: "error",
      name: "segmentation-fault",
      pattern: /^(?:\S{1,80}: line \d{1,7}:\s{1,4}\d{1,9} )?Segmentation fault(?:\s{1,12}\(core dumped\).{0,200})?$/,
    },
    {
      kind: "error",
      name: "command-not-found",
      pattern:
        /^\S{1,80}: (?:line \d{1,7}: |\d{1,7}: )?(?:\S{1,80}: (?:command )?not found$|command not found: \S{1,80}$)/,
    },
    {
      kind: "context-limit",
      name: "context-length",
      pattern:
        /^.{0,200}(?:\bThis model's maximum context length is \d|\bYour input exceeds the context window\b|\bprompt is too long: \d{1,9} tokens)/,
    },
    { kind: "file", name: "tool-file", pattern: /^(?:Edit|Update|Write|Create|Read)\(([^()]{1,300})\)/ },
    { kind: "file", name: "applied-edit", pattern: /^Applied edit to (\S{1,300})$/ },
  ],
};
