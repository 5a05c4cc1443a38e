import { GitFault } from "./run-git.ts";

const longestRecord = 1024 * 1024;

/** Cuts a stream at its NULs: names of files may hold any other byte. A record is only valid during the call. */
export function atEachNul(take: (record: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, start)) {
      take(bytes.subarray(start, end));
      start = end + 1;
    }
    rest = Buffer.from(bytes.subarray(start));
    if (rest.length > longestRecord) throw new GitFault("git-failed", "git gave an answer of no known form");
  };
}

/** As git reads them from its input. */
export function joinWithNuls(records: readonly Buffer[], before = ""): Buffer {
  const nul = Buffer.from([0]);
  const lead = Buffer.from(before);
  return Buffer.concat(records.flatMap((record) => [lead, record, nul]));
}
