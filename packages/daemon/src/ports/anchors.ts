import type { AuditSeal } from "@rouse/contract";

/** Where seals are kept beside the database, as the configuration names it. */
export type AnchorPlace =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "git"; readonly folder: string; readonly ref: string }
  | { readonly kind: "webhook"; readonly to: URL };

/**
 * A place outside the database that remembers how far the audit trail went. The promises:
 * - `place` resolves when the seal is there for good. Placing one again changes nothing, or is known by its number.
 * - `place` adds and never overwrites, and touches nothing else. It rejects with a sentence that holds no secret.
 * - `read` gives everything that is there, oldest first, and judges nothing; `null` when the place cannot be asked.
 */
export interface Anchor {
  place(seal: AuditSeal, stop: AbortSignal): Promise<void>;
  read(): Promise<readonly unknown[] | null>;
}

/** `null`: this program cannot write to such a place. */
export type OpenAnchor = (at: AnchorPlace) => Anchor | null;

/** One per technology. */
interface AnchorMakers {
  file(path: string): Anchor;
  git(folder: string, ref: string): Anchor;
  webhook(to: URL): Anchor | null;
}

export const openAnchorsBy =
  (make: AnchorMakers): OpenAnchor =>
  (at) => {
    switch (at.kind) {
      case "file":
        return make.file(at.path);
      case "git":
        return make.git(at.folder, at.ref);
      case "webhook":
        return make.webhook(at.to);
    }
  };

/** For a monitor that writes nowhere but to its store. */
export const noAnchors: OpenAnchor = () => null;
