import fastify, { type HTTPMethods } from "fastify";
import { describe, expect, it } from "vitest";
import { taskWorld } from "../tasks/task-world.test-support.ts";
import { taskPaths, taskSchemas } from "./openapi-tasks.ts";
import { addTaskRoutes } from "./tasks.ts";

const paths = taskPaths({
  ref: (name) => ({ $ref: name }),
  json: (schema) => schema,
  get: (_, schema) => ({ get: schema }),
  post: (_, body, schema) => ({ post: { body, schema } }),
  query: (name) => ({ name }),
  withEitherToken: (operations) => operations,
});

describe("what the API's document says of tasks", () => {
  it("is what there is: every path and method, and no other", async () => {
    const app = fastify();
    const routes: string[] = [];
    app.addHook("onRoute", ({ method, url }) => {
      for (const one of [method].flat()) if (one !== "HEAD") routes.push(`${one} ${url.replace(":id", "{id}")}`);
    });
    const { service } = await taskWorld();
    addTaskRoutes(app, service, {
      agentOf: () => null,
      principalOf: () => "owner",
      noteRefusedSpeaker: () => undefined,
    });
    const described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase() as HTTPMethods} ${path}`),
    );
    expect(described.toSorted()).toEqual(routes.toSorted());
    await app.close();
  });

  it("names only schemas that are there", () => {
    const named = JSON.stringify(paths).match(/(?<="\$ref":")\w+/g) ?? [];
    expect(new Set(named)).toEqual(new Set(Object.keys(taskSchemas)));
  });
});
