/**
 * What every call of git is told, so that it does what we ask and nothing else. A repository's own configuration may have been written by an agent:
 * whatever in it names a program is answered here, or is not read at all (see scratch-repository.ts).
 */
export const settings: readonly string[] = [
  // No file can be below it, so there are no hooks, not even for references.
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.logAllRefUpdates=false",
  // Line ends that cannot be restored exactly are no reason to save nothing.
  "core.safecrlf=false",
  // A reference to objects that a power cut took would break the person's repository.
  "core.fsync=committed",
  "core.fsyncMethod=batch",
  // Restoring files would go on into submodules, by their own configuration.
  "submodule.recurse=false",
  "i18n.commitEncoding=UTF-8",
];

export const withSettings = (args: readonly string[]): string[] => [
  ...settings.flatMap((setting) => ["-c", setting]),
  ...args,
];

/** What git needs to find itself and the person's own settings. Everything else of ours, tokens and GIT_* alike, is not its business. */
const passedOn = ["PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR"];

export function plainEnvironment(from: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const kept = passedOn.flatMap((name) => {
    const value = from[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(kept),
    // Its stderr is read by us.
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    // A commit is what its name says, not what somebody put in its place.
    GIT_NO_REPLACE_OBJECTS: "1",
    // A clone that lacks objects would fetch them, by a program of its configuration's choice.
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
  };
}

/** Hooks that are named in the configuration instead of lying in a folder, each switched off by its name. */
export function withoutConfiguredHooks(names: readonly string[]): Record<string, string> {
  const pairs = names.flatMap((name, n) => [
    [`GIT_CONFIG_KEY_${n}`, `hook.${name}.enabled`] as const,
    [`GIT_CONFIG_VALUE_${n}`, "false"] as const,
  ]);
  return { GIT_CONFIG_COUNT: String(names.length), ...Object.fromEntries(pairs) };
}
