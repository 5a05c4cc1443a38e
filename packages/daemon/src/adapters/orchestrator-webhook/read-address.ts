/** Where messages go. In the clear only to this machine: an answer can decide the fate of an agent, and on the way anybody could write one. */
export function readAddress(text: string): URL | { readonly problem: string } {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    return { problem: "escalation.webhook_url is not an http or https address" };
  if (url.protocol === "https:" || isThisMachine(url.hostname)) return url;
  return {
    problem: `escalation.webhook_url leads to ${url.host} in the clear; use an https:// address, or one on 127.0.0.1 behind a tunnel`,
  };
}

const isThisMachine = (hostname: string): boolean => /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
