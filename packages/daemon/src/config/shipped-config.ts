import { statSync } from "node:fs";
import { join } from "node:path";
import { presetNames, settingsOf } from "@rouse/contract";
import type { Config } from "./read-config.ts";
import { type Environment, givenIn } from "./variables.ts";

export interface ConfigPlaces {
  /** The file that `--config` names, instead of config.yaml in the home folder. */
  readonly configFile?: string | undefined;
  /** `$ROUSE_HOME`. */
  readonly home: string;
  readonly workingFolder: string;
  readonly environment: Environment;
}

// Most people configure nothing, and loading the code that reads a configuration takes most of `rouse spawn`.

export const configFileIn = (home: string): string => join(home, "config.yaml");
export const botboxFileIn = (workingFolder: string): string => join(workingFolder, ".botbox.json");

/** Whether there is anything to read. In doubt there is: reading it then says what is wrong. */
export const isConfigured = ({ home, workingFolder, environment }: Omit<ConfigPlaces, "configFile">): boolean =>
  givenIn(environment).length > 0 || isThere(configFileIn(home)) || isThere(botboxFileIn(workingFolder));

function isThere(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

/** Where the settings of an agent are looked up. */
export type SettingsBook = Pick<Config, "settings" | "settingsFor" | "policyNames">;

/** The settings where nothing is configured. */
export const shippedConfig: SettingsBook = {
  settings: settingsOf("default"),
  settingsFor: ({ policy }) => settingsOf(presetNames.find((name) => name === policy) ?? "default"),
  policyNames: () => presetNames,
};
