import { statesConformance } from "../../ports/states.conformance.ts";
import { openMemoryStates } from "./open-memory-states.ts";

statesConformance("memory", async () => {
  const folder = new Map<string, string>();
  return async () => openMemoryStates(folder);
});
