import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, makeFolder } from "../clean-up.ts";
import { run } from "../published-packages.ts";
import { repository } from "../run-rouse.ts";
import { type FrameworkName, frameworkNames } from "./frameworks.ts";
import { installFramework, layOut } from "./install-frameworks.ts";

// The adapters describe what they use of the frameworks; here the frameworks' own types are asked whether it is true.

afterEach(cleanUp);

/** What an example takes for granted. */
const given: Record<FrameworkName, string> = {
  ai7: 'import type { LanguageModel, ToolSet } from "ai";\ndeclare const model: LanguageModel, tools: ToolSet, prompt: string;',
  ai6: 'import type { LanguageModel, ToolSet } from "ai";\ndeclare const model: Exclude<LanguageModel, string> & { specificationVersion: "v3" }, tools: ToolSet, prompt: string;',
  claude: "declare const prompt: string;",
  langchain:
    'import type { MemorySaver } from "@langchain/langgraph";\nimport type { ChatOpenAI } from "@langchain/openai";\ndeclare const saver: MemorySaver, model: ChatOpenAI, tools: [];',
  openai:
    'import { z } from "zod";\nconst parameters = z.object({ about: z.string() });\ndeclare const prompt: string;\nconst execute = async ({ about }: { about: string }) => about;',
};

/** Were the types not found, they would allow everything. */
const wrong = "// @ts-expect-error: no agent has that\nagent.nothing();\n";

const [agentExample = "", ...examples] = [
  ...readFileSync(join(repository, "docs", "frameworks.md"), "utf8").matchAll(/^```js\n(.*?)^```$/gms),
].map(([, text = ""]) => text);
const exampleOf: Record<FrameworkName, string | undefined> = {
  ai7: examples[0],
  ai6: examples[1],
  claude: examples[2],
  langchain: examples[3],
  openai: examples[4],
};

describe.each(frameworkNames)("the example of %s in docs/frameworks.md", (name) => {
  const installed = installFramework(name);
  if ("missing" in installed)
    console.error(`e2e: ${name.toUpperCase()} IS NOT THERE, ITS EXAMPLE IS SKIPPED: ${installed.missing}`);

  it.skipIf("missing" in installed)("fits the types of the framework", async () => {
    if ("missing" in installed) throw new Error(installed.missing);
    const folder = join(makeFolder(), "run");
    mkdirSync(folder);
    layOut(folder, installed);
    expect(exampleOf[name]).toContain("watch");
    writeFileSync(join(folder, "example.ts"), `${agentExample}\n${given[name]}\n${exampleOf[name]}\n${wrong}`);
    const compilerOptions = {
      ...{ module: "nodenext", target: "es2023", lib: ["es2023", "dom", "dom.iterable"], types: ["node"] },
      ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true, noEmit: true },
      typeRoots: [join(repository, "node_modules", "@types")],
    };
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["example.ts"] }));
    await run(process.execPath, [join(repository, "node_modules", "typescript", "bin", "tsc"), "-p", folder]);
  });
});
