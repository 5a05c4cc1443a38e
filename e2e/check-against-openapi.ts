import type { Fetch } from "@rouse/sdk";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "vitest";
import { sendRequest } from "./send-request.ts";
import type { Daemon } from "./start-daemon.ts";

interface Content {
  readonly [type: string]: { readonly schema: object };
}
interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: object }[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content: Content }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

export interface CheckedFetch {
  readonly fetch: Fetch;
  /** Everything that was not as the document has it, in sentences. */
  readonly differences: readonly string[];
  /** The statuses that each operation was answered with. */
  readonly answered: ReadonlyMap<string, ReadonlySet<number>>;
}

/** A `fetch` that holds every request and every answer against the document that the daemon itself gives out. */
export async function checkAgainstOpenapi(
  daemon: Daemon,
  isWrongOnPurpose: (body: string) => boolean = () => false,
): Promise<CheckedFetch> {
  const { status, json } = await sendRequest(daemon, { path: "/api/v1/openapi.json" });
  expect(status).toBe(200);
  const document = json as Document;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ $id: "openapi", components: document.components });
  const differences: string[] = [];
  const answered = new Map<string, Set<number>>();

  /** References in the document are to its own root, and so they are looked up where that is. */
  function whatIsWrong(schema: object, value: unknown): string | null {
    const text = JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/');
    const validate = ajv.compile(JSON.parse(text));
    return validate(value) ? null : ajv.errorsText(validate.errors);
  }

  function check(where: string, schema: object | undefined, value: unknown): void {
    const wrong = schema === undefined ? "it is not in the document" : whatIsWrong(schema, value);
    if (wrong !== null) differences.push(`${where}: ${wrong}`);
  }

  function checkRequest(where: string, operation: Operation, url: URL, body: string | undefined): void {
    const inQuery = operation.parameters.filter((one) => one.in === "query");
    for (const [name, value] of url.searchParams) {
      const schema = inQuery.find((one) => one.name === name)?.schema as { type?: string } | undefined;
      check(
        `${where} ?${name}=${value}`,
        schema,
        /^(?:integer|number)$/.test(schema?.type ?? "") ? Number(value) : value,
      );
    }
    const { required = false, content } = operation.requestBody ?? {};
    if (body !== undefined && isWrongOnPurpose(body)) return;
    if (body !== undefined) check(`${where}, its body`, content?.["application/json"]?.schema, JSON.parse(body));
    else if (required) differences.push(`${where}: it has no body`);
  }

  const fetchChecked: Fetch = async (target, request) => {
    const { method = "GET", body } = request;
    const url = new URL(target);
    const where = `${method} ${url.pathname}`;
    const operation = operationFor(document, method, url.pathname);
    if (operation === undefined) differences.push(`${where}: there is no such operation`);
    else checkRequest(where, operation, url, body);
    const response = await fetch(target, request);
    if (operation === undefined) return response;
    const { operationId, responses } = operation;
    answered.set(operationId, (answered.get(operationId) ?? new Set()).add(response.status));
    const type = (response.headers.get("content-type") ?? "").split(";")[0] ?? "";
    const schema = responses[String(response.status)]?.content[type]?.schema;
    const what = `${where}, its answer ${response.status} ${type}`;
    // A stream has no end that could be waited for, so only its type is looked at.
    if (type === "text/event-stream") check(what, schema && {}, null);
    else check(what, schema, JSON.parse(await response.clone().text()));
    return response;
  };
  return { fetch: fetchChecked, differences, answered };
}

/** The operation that spells out more of the path. */
function operationFor({ paths }: Document, method: string, path: string): Operation | undefined {
  const fits = Object.keys(paths)
    .filter((one) => new RegExp(`^${one.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path))
    .sort((a, b) => a.split("{").length - b.split("{").length);
  return fits.map((one) => paths[one]?.[method.toLowerCase()]).find((one) => one !== undefined);
}
