import type { Hold } from "@rouse/contract";
import type { Spec } from "./spec.ts";

/** What its owner said of it when it was started. */
export const wishesOf = (spec: Spec): Pick<Hold, "idleKillMs" | "restart" | "announcesMarker"> => ({
  idleKillMs: spec.idleKillMs ?? null,
  ...(spec.restart === undefined ? {} : { restart: spec.restart }),
  ...(announcesMarker(spec) ? { announcesMarker: true } : {}),
});

/** Whoever is told in its prompt to write the marker when it is done will write it when it is done. */
const announcesMarker = ({ command, watch: { completionMarker } }: Spec): boolean =>
  completionMarker.trim() !== "" && command.some((word) => word.includes(completionMarker.trim()));
