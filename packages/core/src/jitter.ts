/** Between 0 and 1, the same for the same text: agents that went down together do not come back together, and a replay is a replay. */
export function jitterOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return ((hash >>> 0) % 1000) / 1000;
}
