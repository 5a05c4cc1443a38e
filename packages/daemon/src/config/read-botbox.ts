import { checkShape } from "./check-shape.ts";
import { botboxSchema } from "./config-document.ts";
import type { ConfigProblem, Layer, Locate } from "./config-problem.ts";
import type { ParsedText } from "./parse-yaml.ts";
import { fillEmptySections, isGroup, valueAt } from "./schema-node.ts";

/** True for a `.botbox.json` that says something about health; everything else in such a file belongs to other tools. */
export const hasBotboxHealth = (value: unknown): boolean => valueAt(value, place) !== undefined;

const place = ["agents", "health"];

/** JSON is YAML too, so a `.json` file may be either: ours names `health_monitoring` or `preset`, the other belongs to botbox. */
export function isInBotboxForm(name: string, value: unknown): boolean {
  if (!name.endsWith(".json") || !isGroup(value)) return false;
  return !Object.hasOwn(value, "health_monitoring") && !Object.hasOwn(value, "preset");
}

export interface BotboxReading {
  readonly layer: Layer;
  readonly problems: readonly ConfigProblem[];
}

/** Its `agents.health` is our `terminal`, except `enabled`, which means the same here and there. */
export function readBotbox(parsed: ParsedText): BotboxReading {
  const given = valueAt(parsed.value, place);
  if (given === undefined) {
    const message = "found neither health_monitoring nor agents.health in it";
    return { layer: { values: {}, locate: parsed.locate }, problems: [{ ...parsed.locate([]), message }] };
  }
  const health = fillEmptySections(given, botboxSchema.node);
  const problems = checkShape(botboxSchema, health, (path, part) => parsed.locate([...place, ...path], part));

  const locate: Locate = (path, part) => {
    const inside = path[0] === "terminal" ? path.slice(1) : path;
    return parsed.locate([...place, ...inside], inside.length === 0 ? "key" : part);
  };
  return { layer: { values: asSettings(health), locate }, problems };
}

function asSettings(health: unknown): unknown {
  if (!isGroup(health)) return {};
  const { enabled, ...terminal } = health;
  return {
    ...(enabled === undefined ? {} : { enabled }),
    ...(Object.keys(terminal).length === 0 ? {} : { terminal }),
  };
}
