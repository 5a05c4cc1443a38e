/** Only where it went, never the whole address: paths of webhooks are often secrets. */
export function describeFault(to: URL, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return `${to.origin}: ${message}`;
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code))
    return `the certificate of ${to.origin} is not trusted (${code}); name its issuer's file in NODE_EXTRA_CA_CERTS`;
  return `${to.origin} cannot be reached (${code})`;
}
