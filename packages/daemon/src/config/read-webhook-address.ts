import { BlockList, isIP } from "node:net";

export type WebhookReading = URL | { readonly problem: string };

/**
 * Where messages go. Never to addresses that mean no one host (a link's own, where clouds keep their keys, many at once, none at all). In the clear only
 * to this machine, or into a private network whose owner said so: on the way anybody could read what is asked.
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
  // What a name stands for is looked at when it is known: see `whyNotTo` at each connection.
  if (url.protocol === "https:" || url.hostname === "localhost" || allowPrivate) return url;
  return { problem: inTheClear(url) };
}

/** Why nothing is sent to the address a webhook's name stands for; `null` when it may be. */
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

/** IPv4 addresses written as IPv6 ones are found by the rules for IPv4. */
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
  return kinds.find(([, list]) => list.check(plain, family))?.[0] ?? "elsewhere";
}
