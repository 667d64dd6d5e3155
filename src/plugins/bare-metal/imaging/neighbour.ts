import { readFile } from 'node:fs/promises';

/** The entry has an address, and was not given up. */
const complete = 0x2;

/**
 * The Ethernet address of a host of the same network segment, as this host's kernel has it; undefined if it has none, as
 * for hosts behind a router.
 */
export async function macOfNeighbour(address: string, file = '/proc/net/arp'): Promise<string | undefined> {
  const table = await readFile(file, 'utf8').catch(() => '');
  const found = table
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([ip, , flags]) => ip === address && (Number(flags) & complete) !== 0);
  return found?.[3]?.toLowerCase();
}
