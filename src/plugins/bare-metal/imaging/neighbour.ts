import { readFile } from 'node:fs/promises';

/** The entry has an address and has not failed. */
const complete = 0x2;

/**
 * The Ethernet address of a host on the same network segment, from this host's kernel; undefined if unknown,
 * as for hosts behind a router.
 */
export async function macOfNeighbour(address: string, file = '/proc/net/arp'): Promise<string | undefined> {
  const table = await readFile(file, 'utf8').catch(() => '');
  const found = table
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([ip, , flags]) => ip === address && (Number(flags) & complete) !== 0);
  return found?.[3]?.toLowerCase();
}
