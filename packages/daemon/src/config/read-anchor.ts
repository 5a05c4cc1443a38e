import type { AnchorPlace } from "../ports/anchors.ts";
import { readWebhookAddress } from "./read-webhook-address.ts";

/** Not below `refs/rouse/`, which holds the snapshots of agents: one may be called `audit`. */
const usualRef = "refs/rouse-audit/seals";
/** Only refs of ours: no branch, no tag, nothing that anybody checks out. */
const refOfOurs = /^refs\/rouse(?:-audit)?(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$/;

/** A place for seals, as `audit.anchor` names it. */
export function readAnchor(text: string): AnchorPlace | { readonly problem: string } {
  const [, kind = "", rest = ""] = /^(file|git|webhook):(.+)$/s.exec(text) ?? [];
  switch (kind) {
    case "file":
      return rest.includes("\0") ? { problem: "is not a path" } : { kind, path: rest };
    case "git":
      return readGit(rest);
    case "webhook": {
      const to = readWebhookAddress(rest, false);
      return "problem" in to ? to : { kind, to };
    }
    default:
      return { problem: "is no anchor; expected file:PATH, git:REPOSITORY#REF or webhook:https://…" };
  }
}

function readGit(rest: string): ReturnType<typeof readAnchor> {
  const [, folder = "", ref = usualRef] = /^([^#\0]+)(?:#(.*))?$/s.exec(rest) ?? [];
  if (folder === "") return { problem: "names no repository; expected git:REPOSITORY#REF" };
  if (!refOfOurs.test(ref) || /\.\.|\.lock(?:\/|$)|\.$/.test(ref))
    return { problem: `names a ref that is not ours; expected one below refs/rouse/, or none for ${usualRef}` };
  return { kind: "git", folder, ref };
}

/** The anchor's name for logs and reports, without a webhook's path, which is often a secret. */
export function nameAnchor(text: string): string {
  const place = readAnchor(text);
  return "kind" in place && place.kind === "webhook" ? `webhook:${place.to.origin}` : text;
}
