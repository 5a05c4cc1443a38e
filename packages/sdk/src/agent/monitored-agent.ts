import type { Agent, AgentOptions } from "./agent-api.ts";
import { rouse } from "./start-agent.ts";

/**
 * An agent as a class: `run` does the work, `start` tells Rouse how it ended. What `run` throws is thrown by `start`,
 * untouched.
 */
export abstract class MonitoredAgent<Result = unknown> {
  readonly #options: AgentOptions;

  constructor(options: AgentOptions = {}) {
    this.#options = options;
  }

  abstract run(agent: Agent): Promise<Result> | Result;

  async start(): Promise<Result> {
    const agent = rouse.agent(this.#options);
    try {
      const result = await this.run(agent);
      await agent.finish();
      return result;
    } catch (error) {
      await agent.fail(error);
      throw error;
    } finally {
      await agent.close();
    }
  }
}
