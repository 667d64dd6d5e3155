import { createHmac, timingSafeEqual } from 'node:crypto';
import { parseHostKey } from './host-key.js';

/**
 * The keys that a known_hosts text gives for a host, each `<type> <base64>`, ready for `SshTarget.hostKey`. Fails
 * closed: a line that cannot be read gives no key, a key marked `@revoked` for this host is left out, and
 * `@cert-authority` lines are passed over because ssh2 knows no host certificates. No keys means: do not connect.
 */
export function hostKeysFor(knownHosts: string, host: string, port = 22): readonly string[] {
  const name = host.toLowerCase();
  const lookup = port === 22 ? name : `[${name}]:${port}`;
  const known = new Set<string>();
  const revoked = new Set<string>();
  for (const line of knownHosts.split(/\r?\n/)) {
    const entry = parseLine(line);
    if (entry === undefined || !matchesHost(entry.hosts, lookup)) continue;
    if (entry.marker === undefined) known.add(entry.key);
    else if (entry.marker === '@revoked') revoked.add(entry.key);
  }
  return [...known].filter((key) => !revoked.has(key));
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
  if (hosts === undefined || hosts.startsWith('#') || type === undefined || base64 === undefined) return undefined;
  const key = `${type} ${base64}`;
  return parseHostKey(key) === undefined ? undefined : { marker, hosts, key };
}

function matchesHost(hosts: string, lookup: string): boolean {
  if (hosts.startsWith('|')) return matchesHash(hosts, lookup);
  let matched = false;
  for (const pattern of hosts.toLowerCase().split(',')) {
    const negated = pattern.startsWith('!');
    if (!matchesPattern(negated ? pattern.slice(1) : pattern, lookup)) continue;
    if (negated) return false;
    matched = true;
  }
  return matched;
}

function matchesHash(field: string, lookup: string): boolean {
  const [, version, salt, hash] = field.split('|');
  if (version !== '1' || salt === undefined || hash === undefined) return false;
  const expected = Buffer.from(hash, 'base64');
  const actual = createHmac('sha1', Buffer.from(salt, 'base64')).update(lookup).digest();
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

function matchesPattern(pattern: string, lookup: string): boolean {
  const source = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*').replaceAll('?', '.');
  return new RegExp(`^${source}$`).test(lookup);
}
