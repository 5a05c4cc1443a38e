export * from "@rouse/contract";
export { type EmbeddedRouse, type OpenOptions, openRouse } from "./open-rouse.ts";
