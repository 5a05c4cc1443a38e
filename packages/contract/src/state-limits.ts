// Without zod, so that an agent can check a state without loading it.

/**
 * The bounds of one state, so that taking it never holds up the monitor: larger data belongs in the workspace, and a
 * reference to it in the state.
 */
export const stateLimits = { bytes: 16 * 1024 * 1024, values: 200_000, depth: 30 } as const;
