/**
 * Whether a line of a stream holds the agent's own words, as opposed to the prompt, a tool's output or the session's settings. Only there does a completion marker
 * mean that the work is done: prompts like to quote it.
 */
export function speaksForAgent(line: string): boolean {
  const head = line.slice(0, 400);
  if (/"type"\s*:\s*"(?:assistant|result)"/.test(head)) return true;
  if (/"type"\s*:\s*"agent_message"/.test(head)) return true;
  return /"type"\s*:\s*"message"/.test(head) && /"role"\s*:\s*"(?:assistant|model)"/.test(head);
}
