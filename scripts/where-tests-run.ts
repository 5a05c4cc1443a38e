/**
 * Folders of tests that start processes or threads, open terminals or databases, or change the environment: there each file runs in a process of its own.
 * All other tests beside the code share one world of modules for each core; `tidy.test.ts` sees to it that they may.
 */
export const processFolders = [
  "packages/daemon/src/adapters/",
  "packages/daemon/src/cli/",
  "packages/daemon/src/holder/",
  "bench/",
];
