import { z } from 'zod';
import { tagNames } from '../../../model/names.js';
import { isPluginError, PluginError, type Step } from '../../contract.js';
import { describeTags, readDescribedTags, type Part } from '../../provider-base/half-made.js';
import { hasTags } from '../../provider-base/machines.js';
import type { OpenStackFields } from './field-types.js';
import { createdSchema } from './machines.js';
import type { Session } from './session.js';

/** What a machine is made of, or taken away. */
export interface Subject {
  readonly session: Session;
  readonly fields: OpenStackFields;
  readonly key: string;
  /** Known to CREATE alone. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Name of the port and of the server; not unique, but it identifies ours. */
  readonly partName: string;
  /** The servers of the key; for DELETE the one that CREATE returned, if it is known. */
  readonly servers: () => Promise<readonly string[]>;
  /** Known to CREATE alone: the body of the creating call, but for its networks. */
  readonly request?: () => Promise<object>;
}

const madeSchema = z.object({ id: z.string() });
const portSchema = z.object({ port: madeSchema });
const portsSchema = z.object({ ports: z.array(madeSchema) });
const floatingSchema = z.object({ floatingip: madeSchema });
const floatingsSchema = z.object({ floatingips: z.array(madeSchema) });

/** Neutron's limit for a description, in characters. */
const longestDescription = 255;

const describedSchema = z.object({
  id: z.string(),
  description: z.string().nullish(),
  created_at: z.string().nullish(),
});
const linksSchema = z.array(z.object({ rel: z.string() })).optional();
const describedPortsSchema = z
  .object({ ports: z.array(describedSchema), ports_links: linksSchema })
  .transform(({ ports, ports_links: links }) => ({ found: ports, links }));
const describedFloatingsSchema = z
  .object({ floatingips: z.array(describedSchema), floatingips_links: linksSchema })
  .transform(({ floatingips, floatingips_links: links }) => ({ found: floatingips, links }));
type Described = z.output<typeof describedSchema>;

/**
 * With a floating address a machine is a port, the address on the port, and the server at the
 * port: so the address is there before the server is, and CONFIRM only has to look. Neither
 * Neutron nor Nova has tokens, so each step finds what an interrupted CREATE made.
 */
export function partsOf({ floatingNetwork }: OpenStackFields): readonly Step<Subject>[] {
  return floatingNetwork === undefined ? [server] : allParts;
}

/** Whether `list` gave this id to a machine that has parts but no server. */
export function isPart(providerid: string): boolean {
  return /^(port|floating-address):/.test(providerid);
}

/** Ports and floating addresses that were made with these tags. */
export async function partsWithTags(
  session: Session,
  { floatingNetwork }: OpenStackFields,
  tags: Readonly<Record<string, string>>,
): Promise<readonly Part[]> {
  try {
    const ports = await describedPorts(session);
    const floatings = await describedFloatings(session);
    return [...ports.map(asPart('port')), ...floatings.map(asPart('floating-address'))].filter((part) =>
      hasTags(part.tags, tags),
    );
  } catch (error) {
    // An account without floating addresses need not have access to Neutron.
    if (
      floatingNetwork === undefined &&
      isPluginError(error) &&
      (error.kind === 'Auth' || error.kind === 'Invalid')
    )
      return [];
    throw error;
  }
}

const port: Step<Subject> = {
  name: 'port',
  find: async (subject) => {
    const [found] = await portsOf(subject);
    return found === undefined ? undefined : { port: found };
  },
  make: async (subject) => {
    const {
      session,
      fields: { networks: [network] = [] },
      partName,
    } = subject;
    if (network === undefined)
      throw new PluginError(
        'Invalid',
        'a floating IP requires a network of the machine: set the field networks',
      );
    const made = await session.read(portSchema, 'network', {
      method: 'POST',
      path: '/ports',
      body: { port: { network_id: network, name: partName, description: descriptionOf(subject) } },
    });
    return { port: made.port.id };
  },
  undo: async (subject) => {
    for (const id of await portsOf(subject)) await subject.session.remove('network', `/ports/${id}`);
    return 'gone';
  },
};

const floatingAddress: Step<Subject> = {
  name: 'floating address',
  find: async ({ session }, { port: portId }) =>
    typeof portId === 'string' && (await floatingsOf(session, portId)).length > 0 ? {} : undefined,
  make: async (subject, { port: portId }) => {
    const {
      session,
      fields: { floatingNetwork },
    } = subject;
    await session.read(floatingSchema, 'network', {
      method: 'POST',
      path: '/floatingips',
      body: {
        floatingip: {
          floating_network_id: floatingNetwork,
          port_id: portId,
          description: descriptionOf(subject),
        },
      },
    });
    return {};
  },
  undo: async (subject) => {
    const ports = await portsOf(subject);
    const ids =
      ports.length === 0
        ? await floatingsOfKey(subject)
        : (await Promise.all(ports.map((id) => floatingsOf(subject.session, id)))).flat();
    for (const id of ids) await subject.session.remove('network', `/floatingips/${id}`);
    return 'gone';
  },
};

const server: Step<Subject> = {
  name: 'server',
  find: async ({ fields, servers }) => {
    const [providerid] = await servers();
    return providerid === undefined ? undefined : { providerid, 'ssh-auth': { user: fields.user } };
  },
  make: async ({ session, fields, request }, { port: portId }) => {
    if (request === undefined) throw new PluginError('Invalid', 'only CREATE makes anything');
    const networks = [
      ...(typeof portId === 'string' ? [{ port: portId }] : []),
      ...(fields.networks ?? []).slice(typeof portId === 'string' ? 1 : 0).map((uuid) => ({ uuid })),
    ];
    const body = { server: { ...(await request()), networks: networks.length === 0 ? 'auto' : networks } };
    const made = await session.read(createdSchema, 'compute', { method: 'POST', path: '/servers', body });
    return { providerid: made.server.id, 'ssh-auth': { user: fields.user } };
  },
  // Asked to delete, Nova says whether it is there.
  undo: async ({ session, servers }) => {
    const there = await Promise.all(
      (await servers()).map((id) => session.remove('compute', `/servers/${encodeURIComponent(id)}`)),
    );
    return there.includes(true) ? 'going' : 'gone';
  },
};

/** All steps, for what is left of a machine whose fields are not known. */
export const allParts: readonly Step<Subject>[] = [port, floatingAddress, server];

/**
 * What is left of a port that was deleted by hand. Neutron cannot search by a key, so this
 * reads all addresses.
 */
async function floatingsOfKey({ session, key }: Subject): Promise<readonly string[]> {
  const all = await describedFloatings(session);
  return all.filter((floating) => tagsOf(floating)[tagNames.key] === key).map(({ id }) => id);
}

function descriptionOf({ tags = {} }: Subject): string {
  return describeTags(tags, longestDescription);
}

function tagsOf({ description }: Described): Readonly<Record<string, string>> {
  return readDescribedTags(description ?? '');
}

function asPart(kind: 'port' | 'floating-address'): (described: Described) => Part {
  return (described) => {
    const { id, created_at: createdAt } = described;
    return {
      providerid: `${kind}:${id}`,
      tags: tagsOf(described),
      ...(typeof createdAt === 'string' ? { createdAt } : {}),
    };
  };
}

function describedPorts(session: Session): Promise<readonly Described[]> {
  return pages((query) =>
    session.read(describedPortsSchema, 'network', { method: 'GET', path: `/ports?${query}` }),
  );
}

function describedFloatings(session: Session): Promise<readonly Described[]> {
  return pages((query) =>
    session.read(describedFloatingsSchema, 'network', { method: 'GET', path: `/floatingips?${query}` }),
  );
}

/** Neutron can search descriptions only for the whole text, so all of the project's are read. */
async function pages(
  read: (
    query: string,
  ) => Promise<{ readonly found: readonly Described[]; readonly links: z.output<typeof linksSchema> }>,
): Promise<readonly Described[]> {
  const all: Described[] = [];
  const query = new URLSearchParams(
    ['id', 'description', 'created_at'].map((name): [string, string] => ['fields', name]),
  );
  query.set('limit', '500');
  for (;;) {
    const { found, links = [] } = await read(query.toString());
    all.push(...found);
    const last = found.at(-1);
    if (last === undefined || !links.some(({ rel }) => rel === 'next')) return all;
    query.set('marker', last.id);
  }
}

async function portsOf({ session, partName }: Subject): Promise<readonly string[]> {
  return (
    await session.read(portsSchema, 'network', {
      method: 'GET',
      path: `/ports?fields=id&name=${encodeURIComponent(partName)}`,
    })
  ).ports.map(({ id }) => id);
}

async function floatingsOf(session: Session, portId: string): Promise<readonly string[]> {
  return (
    await session.read(floatingsSchema, 'network', {
      method: 'GET',
      path: `/floatingips?fields=id&port_id=${encodeURIComponent(portId)}`,
    })
  ).floatingips.map(({ id }) => id);
}
