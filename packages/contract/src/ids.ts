// Without zod, so that a client that only asks does not load it.

/** Ids end up in file names, terminals, URLs and templates, so they are kept plain. */
export const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}$/;
export const idRule = "must be 1 to 128 letters, digits or . _ : @ + - and start with a letter or digit";
export const isId = (id: unknown): boolean => typeof id === "string" && idPattern.test(id);

export const ownPrefix = "rouse.";
export const ownPrefixRule = "the prefix rouse. is reserved for the monitor itself";
export const isAgentId = (id: unknown): boolean => isId(id) && !String(id).startsWith(ownPrefix);

/** The subject of a question about many agents at once. */
export const fleetId = `${ownPrefix}fleet`;

/** Such as `worker-1.3`: the agent, and the number of the question about it. */
export const escalationIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:@+-]*\.[1-9]\d{0,14}$/;
export const longestEscalationId = 160;
export const isEscalationId = (id: unknown): boolean =>
  typeof id === "string" && id.length <= longestEscalationId && escalationIdPattern.test(id);

/** A reset names the whole breaker: an agent of 128 letters, an operation of 200, and which reset it is. */
export const longestCommandId = 400;

/** A SHA-256. */
export const checkpointIdPattern = /^[0-9a-f]{64}$/;
export const isCheckpointId = (id: unknown): boolean => typeof id === "string" && checkpointIdPattern.test(id);
