import type { Command } from "commander";
import type { Surroundings } from "../surroundings.ts";

/** Adds one command. It calls `finish` when it did what it was asked and still has something to tell a script. */
export type AddCommand = (program: Command, here: Surroundings, finish: (code: number) => void) => void;
