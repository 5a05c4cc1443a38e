import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "vitest";

export const token = "s3cret-s3cret-s3cret";

export type Asked = [method: string | undefined, url: string | undefined, body: unknown];

const open = new Set<() => void>();

afterEach(() => {
  for (const close of open) close();
  open.clear();
});

/** A server of this test's own, gone when the test is over. */
export async function listen(listener: RequestListener): Promise<{ url: string; token: string }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.add(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token };
}

/** Writes down what it is asked and gives the answer that stands at that moment. */
export async function listenAndNote() {
  const noted = { asked: [] as Asked[], answer: { status: 200, body: { ok: true } as unknown } };
  const line = await listen(async (request, response) => {
    noted.asked.push([request.method, request.url, await readBody(request)]);
    response.writeHead(noted.answer.status).end(JSON.stringify(noted.answer.body));
  });
  return { noted, line };
}

export async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? null : JSON.parse(Buffer.concat(chunks).toString());
}
