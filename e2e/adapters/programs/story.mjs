// What all programs share: an agent, a model's address, and two tools. Each prints a line for what a test waits for.
import { rouse } from "@rouse/sdk";

export const modelUrl = process.env.MODEL_URL;
export const prompt = "Look up the weather.";
export const agent = rouse.agent({ beatEveryMs: 200, onWarning: (text) => console.log(`warning: ${text}`) });

agent.onNudge(({ message }) => console.log(`heard: ${message}`));

export function note() {
  console.log("noted");
  return "noted";
}

export function lookup() {
  console.log("looked up");
  throw new Error("the weather is out of order");
}

/** Prints what came of it. One that failed stays, for it to be looked at. */
export async function tell(run) {
  try {
    console.log(`said: ${await run()}`);
    await agent.finish();
  } catch (error) {
    console.log(`failed: ${error.name}: ${error.message}`);
    setInterval(() => undefined, 60_000);
  }
}
