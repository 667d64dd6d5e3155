import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * The host keys (`<type> <base64>`) of a host in a known_hosts text. Ignores unreadable lines, keys that are
 * `@revoked` for the host, and certificate authorities.
 */
export function hostKeysFor(knownHosts: string, host: string, port: number): readonly string[] {
  const name = host.toLowerCase();
  const lookup = port === 22 ? name : `[${name}]:${port}`;
  const matching = knownHosts
    .split(/\r?\n/)
    .flatMap((line) => parseLine(line) ?? [])
    .filter(({ hosts, key }) => matches(hosts, lookup) && isHostKey(key));
  const keys = (marker: string | undefined): readonly string[] =>
    matching.filter((entry) => entry.marker === marker).map(({ key }) => key);
  const revoked = keys('@revoked');
  return [...new Set(keys(undefined))].filter((key) => !revoked.includes(key));
}

/** Whether a text is the `<type> <base64>` of a public key and the key itself has this type. */
export function isHostKey(text: string): boolean {
  const [type, base64] = text.trim().split(/\s+/);
  if (type === undefined || base64 === undefined) return false;
  const key = Buffer.from(base64, 'base64');
  if (key.length < 8 || key.toString('base64').replace(/=+$/, '') !== base64.replace(/=+$/, '')) return false;
  const length = key.readUInt32BE(0);
  return key.length > 4 + length && key.toString('latin1', 4, 4 + length) === type;
}

interface Entry {
  readonly marker: string | undefined;
  readonly hosts: string;
  readonly key: string;
}

function parseLine(line: string): Entry | undefined {
  const words = line.trim().split(/\s+/);
  const marker = words[0]?.startsWith('@') === true ? words.shift() : undefined;
  const [hosts, type, base64] = words;
  if (hosts === undefined || hosts.startsWith('#') || type === undefined || base64 === undefined)
    return undefined;
  return { marker, hosts, key: `${type} ${base64}` };
}

function matches(hosts: string, lookup: string): boolean {
  if (hosts.startsWith('|')) return matchesHash(hosts, lookup);
  const patterns = hosts.toLowerCase().split(',');
  const isNegated = patterns.some(
    (pattern) => pattern.startsWith('!') && matchesPattern(pattern.slice(1), lookup),
  );
  return !isNegated && patterns.some((pattern) => matchesPattern(pattern, lookup));
}

function matchesHash(field: string, lookup: string): boolean {
  const [, version, salt, hash] = field.split('|');
  if (version !== '1' || salt === undefined || hash === undefined) return false;
  const expected = Buffer.from(hash, 'base64');
  const actual = createHmac('sha1', Buffer.from(salt, 'base64')).update(lookup).digest();
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

/** `*` and `?` are wildcards; other characters are literal. */
function matchesPattern(pattern: string, lookup: string): boolean {
  if (!/[*?]/.test(pattern)) return pattern === lookup;
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`).test(lookup);
}
