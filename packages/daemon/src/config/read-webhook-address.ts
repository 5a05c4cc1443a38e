import { BlockList, isIP } from "node:net";

type WebhookReading = URL | { readonly problem: string };

/**
 * The address of a webhook. Link-local (where clouds keep their keys), multicast and unspecified addresses are refused.
 * Plain http is allowed only to this machine, or into a private network when the owner said so.
 */
export function readWebhookAddress(text: string, allowPrivate: boolean): WebhookReading {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    return { problem: "is not an http or https address" };
  const literal = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(literal) !== 0) {
    const problem = whyNotTo(url, literal, allowPrivate);
    return problem === null ? url : { problem };
  }
  // The address behind a name is checked at each connection, with `whyNotTo`.
  if (url.protocol === "https:" || url.hostname === "localhost" || allowPrivate) return url;
  return { problem: inTheClear(url) };
}

/** Why nothing may be sent to the address that a webhook's name resolves to; `null` when it may. */
export function whyNotTo(url: URL, address: string, allowPrivate: boolean): string | null {
  const kind = kindOf(address);
  if (kind === "nobody's")
    return `leads to ${address}, which is not one host's address: link-local, multicast or unspecified`;
  if (url.protocol === "https:" || kind === "this machine" || (kind === "private" && allowPrivate)) return null;
  return inTheClear(url);
}

// Only the host: paths of webhooks are often secrets.
const inTheClear = ({ host }: URL): string =>
  `leads to ${host} in the clear; use an https:// address, one on 127.0.0.1 behind a tunnel, or, for a private network, set escalation.allow_private_webhook: true`;

type Kind = "nobody's" | "this machine" | "private" | "elsewhere";

/** IPv4-mapped IPv6 addresses are found by the rules for IPv4. */
function listOf(v4: readonly string[], v6: readonly string[]): BlockList {
  const list = new BlockList();
  const add = (range: string, family: "ipv4" | "ipv6"): void => {
    const [net = "", bits] = range.split("/");
    list.addSubnet(net, Number(bits), family);
  };
  for (const range of v4) add(range, "ipv4");
  for (const range of v6) add(range, "ipv6");
  return list;
}

const kinds: readonly (readonly [Kind, BlockList])[] = [
  [
    "nobody's",
    listOf(["0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4"], ["::/128", "fe80::/10", "ff00::/8"]),
  ],
  ["this machine", listOf(["127.0.0.0/8"], ["::1/128"])],
  ["private", listOf(["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"], ["fc00::/7"])],
];

function kindOf(address: string): Kind {
  const plain = address.replace(/%.*$/, "");
  const family = isIP(plain) === 6 ? "ipv6" : "ipv4";
  const kind = kinds.find(([, list]) => list.check(plain, family))?.[0] ?? "elsewhere";
  if (kind !== "elsewhere" || family === "ipv4") return kind;
  // The network decides where a translated address leads, so only an inner address that is nobody's counts.
  const inner = embeddedIn(plain);
  return inner !== null && kindOf(inner) === "nobody's" ? "nobody's" : "elsewhere";
}

/** The IPv4 address inside an IPv6 one: NAT64 (64:ff9b::/96), 6to4 (2002::/16) or the old compatible form (::/96). */
function embeddedIn(address: string): string | null {
  const groups = groupsOf(address);
  const [first, second, third] = groups as [number, number, number];
  if (first === 0x2002) return dotted(second, third);
  const prefix = groups.slice(0, 6).map((group) => group.toString(16));
  if (!["0:0:0:0:0:0", "64:ff9b:0:0:0:0"].includes(prefix.join(":"))) return null;
  return dotted(groups[6] ?? 0, groups[7] ?? 0);
}

/** A URL writes an IPv6 address as hexadecimal groups with one gap at most. */
function groupsOf(address: string): number[] {
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const read = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const [before, after] = [read(head), read(tail ?? "")];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

const dotted = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join(".");
