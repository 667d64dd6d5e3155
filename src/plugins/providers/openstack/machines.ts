import { createHash } from 'node:crypto';
import { z } from 'zod';
import { tagNames } from '../../../model/names.js';
import type { Machine } from '../../contract.js';
import type { OpenStackFields } from './field-types.js';

const addressSchema = z.object({
  addr: z.string(),
  version: z.number(),
  'OS-EXT-IPS:type': z.string().default('fixed'),
});

const serverSchema = z.object({
  id: z.string().min(1),
  status: z.string(),
  created: z.string(),
  metadata: z.record(z.string(), z.string()),
  addresses: z.record(z.string(), z.array(addressSchema)),
  'OS-EXT-STS:task_state': z.string().nullish(),
  fault: z.object({ message: z.string() }).nullish(),
});
export type Server = z.output<typeof serverSchema>;

export const detailsSchema = z.object({ server: serverSchema });
export const pageSchema = z.object({
  servers: z.array(serverSchema),
  servers_links: z.array(z.object({ rel: z.string(), href: z.string() })).optional(),
});
export const createdSchema = z.object({ server: z.object({ id: z.string().min(1) }) });

/** All others are on their way to one of these. */
const states: Readonly<Record<string, Machine['state']>> = {
  ACTIVE: 'running',
  PASSWORD: 'running',
  SHUTOFF: 'stopped',
  PAUSED: 'stopped',
  SUSPENDED: 'stopped',
  RESCUE: 'stopped',
  SHELVED: 'stopped',
  SHELVED_OFFLOADED: 'stopped',
  ERROR: 'failed',
  DELETED: 'gone',
  SOFT_DELETED: 'gone',
};

export function machineOf(server: Server, fields: OpenStackFields): Machine {
  const { id, status, created, metadata } = server;
  const key = metadata[tagNames.key];
  const address = addressOf(server, fields);
  return {
    providerid: id,
    tags: metadata,
    state: states[status] ?? 'starting',
    key,
    createdAt: created,
    address,
  };
}

/** Undefined if it has no address yet, or if its interfaces must decide between several. */
export function addressOf(
  { addresses }: Server,
  { floatingNetwork, networks = [] }: OpenStackFields,
): string | undefined {
  const all = Object.values(addresses)
    .flat()
    .toSorted((one, other) => one.version - other.version);
  if (floatingNetwork !== undefined) return all.find((one) => one['OS-EXT-IPS:type'] === 'floating')?.addr;
  return networks.length > 1 ? undefined : all.find((one) => one['OS-EXT-IPS:type'] === 'fixed')?.addr;
}

/** Nova's limit for a tag, in characters. */
const longestTag = 60;

/**
 * Tags of Nova have no slashes and commas. A value that does not fit is replaced by its hash; the metadata,
 * which cannot be searched, has all of it.
 */
export function novaTags(tags: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(tags).map(([name, value]) => {
    const plain = `${name}=${value}`;
    return plain.length <= longestTag && !/[/,]/.test(plain)
      ? plain
      : `${name}=${createHash('sha256')
          .update(value)
          .digest('hex')
          .slice(0, longestTag - name.length - 1)}`;
  });
}
