/**
 * Whether data sent to this address can be read or changed on the way: it is unencrypted and leaves this
 * machine. A malformed address is left to the check of its form.
 */
export function isUnprotected(address: string): boolean {
  if (!/^(http|([a-z]+\+)?tcp):\/\//i.test(address)) return false;
  // Only of http: are numbers and short forms of an address read as one.
  const url = address.replace(/^[a-z+]+:/i, 'http:');
  return URL.canParse(url) && !isLoopback(new URL(url).hostname);
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    /^127(\.\d{1,3}){3}$/.test(hostname) ||
    hostname === '[::1]'
  );
}

const endpointPattern = /^(?:(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*):)?(\d{1,5})$/;

/** Reads `PORT` or `HOST:PORT`; undefined if it is neither. */
export function readEndpoint(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, host = '127.0.0.1', digits] = endpointPattern.exec(text) ?? [];
  const port = Number(digits);
  return port >= 1 && port <= 65_535 ? { host, port } : undefined;
}
