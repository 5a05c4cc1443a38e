/** Where messages go. In the clear only to this machine: an answer can decide the fate of an agent, and on the way anybody could write one. */
export function readWebhookAddress(text: string): URL | { readonly problem: string } {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    return { problem: "is not an http or https address" };
  if (url.protocol === "https:" || isThisMachine(url.hostname)) return url;
  // Only the host: paths of webhooks are often secrets.
  return {
    problem: `leads to ${url.host} in the clear; use an https:// address, or one on 127.0.0.1 behind a tunnel`,
  };
}

const isThisMachine = (hostname: string): boolean => /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
