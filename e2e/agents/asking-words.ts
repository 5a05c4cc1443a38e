import type { Scenario } from "./scenarios.ts";

/** Whether a program asks by now what its scenario makes it ask. */
export const showsQuestion = (scenario: Scenario, written: Buffer): boolean =>
  (askingWords[scenario] ?? /./).test(lettersOf(written));

/** What each program puts on its screen when it asks, without the spaces between the words. */
const askingWords: Partial<Record<Scenario, RegExp>> = {
  permission: /doyouwantto(?:proceed|make|create)|wouldyouliketorun|permissionrequired|allowexecution/,
  trust: /trustthisfolder|doyoutrust|trustthecontents/,
  question: /whichdatabase/,
  plan: /readytocode|wouldyouliketoproceed|exitplanmode/,
};

/** Letters without spaces: programs jump over them as often as they write them. */
const lettersOf = (bytes: Buffer): string =>
  bytes
    .toString("utf8")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is to go
    .replaceAll(/\u001b(?:\[[\d;?<>=]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[()][AB0]|[=>78cM])|\s/g, "")
    .toLowerCase();
