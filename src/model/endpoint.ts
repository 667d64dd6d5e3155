/**
 * Whether data sent to this address can be read or changed on the way: it is unencrypted and leaves this
 * machine. A malformed address is left to the check of its form.
 */
export function isUnprotected(address: string): boolean {
  // Read as URLs are: without blanks around it and line breaks in it, with any number of slashes.
  const read = address.replaceAll(/^[\0-\x20]+|[\t\r\n]/g, '');
  if (!/^(http:|([a-z]+\+)?tcp:\/\/)/i.test(read)) return false;
  // Only of http: are numbers and short forms of an address read as one.
  const url = read.replace(/^[a-z+]+:/i, 'http:');
  return URL.canParse(url) && !isLoopback(new URL(url).hostname);
}

/**
 * Whether an address contains a user or a password. Clients refuse such addresses, and their
 * errors would show them.
 */
export function holdsCredentials(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { username, password } = new URL(address);
  return username !== '' || password !== '';
}

/**
 * A text for people: user and password of addresses in it are hidden. The user of an SSH login
 * alone is not secret.
 */
export function withoutUserInfo(text: string): string {
  return text.replaceAll(/:\/\/([^\s/?#"]*)@/g, (written, info: string, at: number) => {
    const isLogin = /ssh[a-z0-9+.-]*$/i.test(text.slice(Math.max(0, at - 20), at));
    return isLogin && !info.includes(':') ? written : '://(secret)@';
  });
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

const serverAddressPattern = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9._-]*)(?::(\d{1,5}))?$/;

/** What is wrong with the address of a Temporal server; undefined if it is valid. */
export function wrongServerAddress(text: string): string | undefined {
  if (text.trim() === '') return 'is empty';
  const [match, port] = serverAddressPattern.exec(text) ?? [];
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  if (match === undefined) return `is ${JSON.stringify(text)}, ${isUrl ? 'a URL' : 'no host and port'}`;
  if (port === undefined) return `is ${JSON.stringify(text)}, which has no port`;
  return Number(port) >= 1 && Number(port) <= 65_535
    ? undefined
    : `is ${JSON.stringify(text)}: a port is a number from 1 to 65535`;
}

/** How the address of a Temporal server is written. */
export const serverAddressForm = 'host:port, such as 127.0.0.1:7233';

/** For a Temporal server without the namespace: what and what to do. */
export function missingNamespaceText(namespace: string): string {
  return `the Temporal server has no namespace ${JSON.stringify(namespace)}; specify another one (--namespace, TEMPORAL_NAMESPACE), or create it: ${createNamespaceCommand(namespace)}`;
}

export function createNamespaceCommand(namespace: string): string {
  return `temporal operator namespace create --namespace ${namespace}`;
}
