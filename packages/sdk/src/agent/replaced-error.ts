/** Another process speaks for the agent since: what this one does no longer counts, and is kept nowhere. */
export class ReplacedError extends Error {
  override readonly name = "ReplacedError";
}
