import { z } from 'zod';
import { PluginError, type Step } from '../../contract.js';
import type { Part } from '../../provider-base/half-made.js';
import { hasTags } from '../../provider-base/machines.js';
import type { ExampleApi } from './api.js';

/** What a machine is made for, or taken away. */
export interface Subject {
  readonly api: ExampleApi;
  readonly key: string;
  readonly providerid?: string;
  /** Known to CREATE alone. */
  readonly wanted?: {
    readonly token: string;
    readonly tags: Readonly<Record<string, string>>;
    readonly hostname: string;
    readonly flavor: string;
    readonly image: string;
    readonly volumeGb: number;
  };
}

const madeSchema = z.object({ id: z.string() });
/** `machine` is the one that it is attached to. */
const extraSchema = madeSchema.extend({ machine: z.string().optional() });
type Extra = z.output<typeof extraSchema>;
const volumesSchema = z.object({ volumes: z.array(extraSchema) });
const addressesSchema = z.object({ addresses: z.array(extraSchema) });
const instanceSchema = z.object({ id: z.string(), state: z.string(), user: z.string().optional() });
const instancesSchema = z.object({ machines: z.array(madeSchema) });

/**
 * What a machine is made of, in the order in which it is made; it is undone from the last to the first. Each
 * thing has a token of its own, so that asking again gives the same one, and carries the machine's key, by
 * which it is found again.
 */
export const parts: readonly Step<Subject>[] = [
  {
    name: 'volume',
    make: async ({ api, key, wanted }) => {
      const { token, tags, volumeGb } = known(wanted);
      return {
        volume: one(
          await api.call(madeSchema, 'POST', '/v1/volumes', {
            key,
            token: `${token}-volume`,
            tags,
            sizeGb: volumeGb,
          }),
        ).id,
      };
    },
    undo: async (subject) => {
      for (const { id } of await volumesOf(subject))
        await subject.api.call(z.unknown(), 'DELETE', `/v1/volumes/${id}`);
      return 'gone';
    },
  },
  {
    name: 'address',
    make: async ({ api, key, wanted }) => {
      const { token, tags } = known(wanted);
      return {
        address: one(
          await api.call(madeSchema, 'POST', '/v1/addresses', { key, token: `${token}-address`, tags }),
        ).id,
      };
    },
    undo: async (subject) => {
      for (const { id } of await addressesOf(subject))
        await subject.api.call(z.unknown(), 'DELETE', `/v1/addresses/${id}`);
      return 'gone';
    },
  },
  {
    name: 'instance',
    make: async ({ api, key, wanted }) => {
      const { volumeGb: _size, ...request } = known(wanted);
      const {
        id,
        state,
        user = 'root',
      } = one(await api.call(instanceSchema, 'POST', '/v1/machines', { key, ...request }));
      if (state === 'gone')
        throw new PluginError('Invalid', `the machine of key ${key}, ${id}, was deleted; replace the node`);
      return { providerid: id, 'ssh-auth': { user } };
    },
    undo: async (subject) => {
      const ids = subject.providerid === undefined ? await instancesOf(subject) : [subject.providerid];
      // Asked to delete, the service says whether it is there: a list may lag behind.
      const answers = await Promise.all(
        ids.map((id) =>
          subject.api.call(z.object({ id: z.string() }), 'DELETE', machinePath(id, subject.key)),
        ),
      );
      return answers.some((answer) => answer !== undefined) ? 'going' : 'gone';
    },
  },
  {
    name: 'attachments',
    make: async ({ api }, { volume, address, providerid }) => {
      for (const [kind, id] of [
        ['volumes', volume],
        ['addresses', address],
      ] as const) {
        one(
          await api.call(madeSchema, 'POST', `/v1/${kind}/${typeof id === 'string' ? id : '-'}/attach`, {
            machine: providerid,
          }),
        );
      }
      return {};
    },
    // They end with the instance.
    undo: () => Promise.resolve('gone'),
  },
];

/**
 * With the key beside the id, the service refuses a machine that was made with another key. An API without
 * that is asked for the machine's tag first.
 */
export function machinePath(id: string, key: string): string {
  return `/v1/machines/${encodeURIComponent(id)}?key=${encodeURIComponent(key)}`;
}

export async function volumesOf({ api, key }: Subject): Promise<readonly Extra[]> {
  return one(await api.call(volumesSchema, 'GET', `/v1/volumes?key=${encodeURIComponent(key)}`)).volumes;
}

export async function addressesOf({ api, key }: Subject): Promise<readonly Extra[]> {
  return one(await api.call(addressesSchema, 'GET', `/v1/addresses?key=${encodeURIComponent(key)}`))
    .addresses;
}

const taggedSchema = z
  .object({ id: z.string(), tags: z.record(z.string(), z.string()), createdAt: z.string() })
  .transform(({ id, ...part }): Part => ({ ...part, providerid: id }));

/** Volumes and addresses that carry all of the tags. */
export async function partsWithTags(
  api: ExampleApi,
  tags: Readonly<Record<string, string>>,
): Promise<readonly Part[]> {
  const { volumes } = one(await api.call(z.object({ volumes: z.array(taggedSchema) }), 'GET', '/v1/volumes'));
  const { addresses } = one(
    await api.call(z.object({ addresses: z.array(taggedSchema) }), 'GET', '/v1/addresses'),
  );
  return [...volumes, ...addresses].filter((part) => hasTags(part.tags, tags));
}

async function instancesOf({ api, key }: Subject): Promise<readonly string[]> {
  return one(
    await api.call(instancesSchema, 'GET', `/v1/machines?key=${encodeURIComponent(key)}`),
  ).machines.map(({ id }) => id);
}

function known(wanted: Subject['wanted']): NonNullable<Subject['wanted']> {
  if (wanted !== undefined) return wanted;
  throw new PluginError('Invalid', 'only CREATE makes anything');
}

/** Of calls that are never answered by absence. */
function one<Value>(answer: Value | undefined): Value {
  if (answer !== undefined) return answer;
  throw new PluginError('Retryable', 'the machine service does not show what was just made');
}
