import { z } from 'zod';
import type { AccountQuota } from '../../contract.js';
import type { DockerApi } from './api.js';
import { limitsOf } from './container.js';
import { listSchema } from './machines.js';

const mib = 1024 ** 2;
const infoSchema = z.object({ MemTotal: z.number() });
const limitsSchema = z.object({ HostConfig: z.object({ Memory: z.number().default(0) }) });

/**
 * Memory of the host, and the limits of its running containers, in MiB; those without a limit count nothing.
 */
export async function hostQuota(api: DockerApi): Promise<AccountQuota> {
  const { MemTotal } = await api.read(infoSchema, { method: 'GET', path: '/info' });
  const running = await api.read(listSchema, { method: 'GET', path: '/containers/json' });
  const memories = await Promise.all(running.map(({ Id }) => memoryOf(api, Id)));
  const used = memories.reduce((sum, memory) => sum + memory, 0);
  return { limits: { memory: Math.floor(MemTotal / mib) }, used: { memory: Math.ceil(used / mib) } };
}

/** What containers of these flavors take; other words are left out. */
export function sizesOf(flavors: readonly string[]): NonNullable<AccountQuota['sizes']> {
  return Object.fromEntries(
    flavors.flatMap((flavor) => {
      try {
        const { NanoCpus, Memory } = limitsOf(flavor);
        return NanoCpus === undefined || Memory === undefined
          ? []
          : [[flavor, { cores: NanoCpus / 1e9, memory: Memory / mib }] as const];
      } catch {
        return [];
      }
    }),
  );
}

/** A container that has ended meanwhile takes nothing. */
async function memoryOf(api: DockerApi, id: string): Promise<number> {
  const found = await api.find(limitsSchema, `/containers/${encodeURIComponent(id)}/json`);
  return found?.HostConfig.Memory ?? 0;
}
