import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import openapiTS, { type OpenAPI3 } from "openapi-typescript";
import { beforeAll, describe, expect, it } from "vitest";
import { openApiDocument } from "./openapi.ts";
import type { Route } from "./route.ts";
import { tableOfMonitor } from "./table.test-support.ts";

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly responses: Readonly<Record<string, { description: string; content: object }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly servers: readonly object[];
  readonly tags: readonly { readonly name: string }[];
}

let table: readonly Route[];
let document: Document;
let operations: readonly (readonly [name: string, operation: Operation])[];

beforeAll(async () => {
  ({ table } = await tableOfMonitor());
  document = JSON.parse(JSON.stringify(openApiDocument(table, "1.2.3")));
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  );
});

describe("the OpenAPI document", () => {
  it("passes a public validator, and everything it refers to is in it", async () => {
    const validator = new Validator();
    expect(await validator.validate(JSON.parse(JSON.stringify(document)))).toEqual({ valid: true });
    expect(() => validator.resolveRefs()).not.toThrow();
    const text = JSON.stringify(document);
    const { components } = document as unknown as { components: { schemas: object } };
    const named = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = ""]) => ref);
    const there = Object.keys(components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(named.filter((ref) => !there.includes(ref))).toEqual([]);
    expect(there.filter((ref) => !named.includes(ref))).toEqual([]);
  });

  it("describes every line of the table and no other, under a name, a tag and in words", () => {
    expect(operations.map(([name]) => name).toSorted()).toEqual(
      table.map(({ method, path }) => `${method} ${path}`).toSorted(),
    );
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const tags = document.tags.map(({ name }) => name);
    for (const [name, operation] of operations) {
      expect(operation.operationId, name).toMatch(/^[a-z][A-Za-z]+$/);
      expect(tags, name).toContain(operation.tags[0]);
      expect(operation.summary, name).toMatch(/\w/);
    }
    expect(document.servers).toHaveLength(1);
  });

  it("describes every answer with its status: one that is right, and how it is refused", () => {
    for (const [name, { responses }] of operations) {
      const statuses = Object.keys(responses);
      // Older clients of MCP ask for what there is not, and only that is answered.
      const right = /^(?:GET|DELETE) \/mcp$/.test(name) ? /^405$/ : /^20\d$/;
      expect(statuses.filter((status) => right.test(status)).length, name).toBeGreaterThan(0);
      expect(statuses, name).toEqual(expect.arrayContaining(["400", "421", "500"]));
      for (const { description, content } of Object.values(responses)) {
        expect(description, name).toMatch(/\w/);
        expect(content, name).toBeDefined();
      }
    }
    expect(Object.keys(document.paths["/api/v1/agents/{id}"]?.["delete"]?.responses ?? {})).toEqual(
      expect.arrayContaining(["200", "401", "403", "404", "409", "413", "503"]),
    );
  });

  it("makes a client that compiles", async () => {
    const root = join(import.meta.dirname, "../../../..");
    const cache = join(root, "node_modules", ".cache");
    mkdirSync(cache, { recursive: true });
    const folder = mkdtempSync(join(cache, "openapi-client-"));
    try {
      writeFileSync(join(folder, "schema.ts"), await openapiTS(document as unknown as OpenAPI3));
      writeFileSync(join(folder, "client.ts"), client);
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["client.ts"] }));
      const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
      expect(execFileSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" })).toBe("");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

const compilerOptions = {
  strict: true,
  noEmit: true,
  module: "nodenext",
  target: "es2022",
  lib: ["es2022", "dom"],
  types: [],
  skipLibCheck: true,
  allowImportingTsExtensions: true,
};

/** What somebody would write with the generated types; what must not compile is said so. */
const client = `
import createClient from "openapi-fetch";
import type { paths } from "./schema.ts";

const rouse = createClient<paths>({ baseUrl: "http://127.0.0.1:7433" });

export async function look(): Promise<string> {
  const { data } = await rouse.GET("/api/v1/agents/{id}", { params: { path: { id: "worker-1" } } });
  const state: "HEALTHY" | "DEGRADED" | "STUCK" | "UNRESPONSIVE" | string = data?.state ?? "";
  await rouse.POST("/api/v1/tasks", { body: { taskId: "fix-42", priority: "high" } });
  // @ts-expect-error there is no such priority
  await rouse.POST("/api/v1/tasks", { body: { taskId: "fix-42", priority: "highest" } });
  // @ts-expect-error there is no such path
  await rouse.GET("/api/v1/nothing", {});
  await rouse.POST("/api/v1/heartbeats", { body: { agentId: "worker-1", status: "RUNNING" } });
  return state;
}
`;
