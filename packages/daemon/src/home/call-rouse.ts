/** How `rouse` is called from another terminal, to print: one with a data folder of its own has to be told of it. */
export const callOf = (environment: NodeJS.ProcessEnv, folder: string): string =>
  `${environment["ROUSE_HOME"] === undefined ? "" : `ROUSE_HOME=${folder} `}npx rouse`;
