/** Tells whole HTTP/1.1 responses apart in what a keep-alive connection delivers, by their Content-Length. */
export function readResponses(onResponse: (status: number, body: Buffer) => void): (chunk: Buffer) => void {
  let unfinished: Buffer | null = null;
  /** Bytes without which there is no point in looking again. */
  let needed = 0;

  return (chunk) => {
    let data: Buffer = unfinished === null ? chunk : Buffer.concat([unfinished, chunk]);
    unfinished = null;
    while (data.length > 0) {
      const bodyAt = data.length < needed ? 0 : data.indexOf("\r\n\r\n") + 4;
      const { status, length } = bodyAt < 4 ? unknown : readHead(data.toString("latin1", 0, bodyAt));
      needed = bodyAt < 4 ? needed : bodyAt + length;
      if (bodyAt < 4 || data.length < needed) {
        unfinished = data;
        return;
      }
      onResponse(status, data.subarray(bodyAt, needed));
      data = data.subarray(needed);
      needed = 0;
    }
  };
}

const unknown = { status: 0, length: 0 };

function readHead(head: string): { status: number; length: number } {
  const status = Number(head.slice(9, 12));
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`a response without Content-Length cannot be counted: ${head}`);
  return { status, length: Number(length) };
}

export function countIn(body: Buffer, words: string): number {
  let count = 0;
  for (let at = body.indexOf(words); at !== -1; at = body.indexOf(words, at + words.length)) count++;
  return count;
}
