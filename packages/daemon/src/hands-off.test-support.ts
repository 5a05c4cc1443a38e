import { generateKeyPairSync, sign } from "node:crypto";
import { openMemoryStates } from "./adapters/states-memory/open-memory-states.ts";
import type { MonitorParts } from "./monitor.ts";
import { noAnchors } from "./ports/anchors.ts";
import { noHolders } from "./ports/holders.ts";
import { noWorkspaces } from "./ports/workspaces.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");

/** The hands of a monitor that only watches. */
export const handsOff: Pick<
  MonitorParts,
  "holders" | "workspaces" | "orchestrator" | "states" | "signing" | "anchors"
> = {
  holders: noHolders,
  workspaces: noWorkspaces,
  orchestrator: { ask: async () => "delivered", withdraw: async () => undefined, close: () => undefined },
  states: openMemoryStates(),
  anchors: noAnchors,
  signing: {
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64"),
    publicKey: publicKey.export({ type: "spki", format: "pem" }) as string,
  },
};
