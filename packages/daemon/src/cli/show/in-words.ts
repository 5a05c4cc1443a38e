/** A word of a closed set, as a person would write it. */
export const inWords = (code: string): string => code.replaceAll("-", " ").replaceAll("_", " ");
