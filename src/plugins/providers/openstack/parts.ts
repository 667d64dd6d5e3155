import { z } from 'zod';
import { PluginError, type Step } from '../../contract.js';
import type { OpenStackFields } from './fields.js';
import { createdSchema } from './machines.js';
import type { Session } from './session.js';

/** What a machine is made of, or taken away. */
export interface Subject {
  readonly session: Session;
  readonly fields: OpenStackFields;
  /** Name of the port and of the server; not unique, but it identifies ours. */
  readonly partName: string;
  /** The servers of the key, or the one that CREATE returned. */
  readonly servers: () => Promise<readonly string[]>;
  /** Known to CREATE alone: the body of the creating call, but for its networks. */
  readonly request?: () => Promise<object>;
}

const portSchema = z.object({ port: z.object({ id: z.string() }) });
const portsSchema = z.object({ ports: z.array(z.object({ id: z.string() })) });
const floatingSchema = z.object({ floatingip: z.object({ id: z.string() }) });
const floatingsSchema = z.object({ floatingips: z.array(z.object({ id: z.string() })) });

/**
 * With a floating address a machine is a port, the address on the port, and the server at the port: so the
 * address is there before the server is, and CONFIRM only has to look. Neutron has no tokens; each step looks
 * by what it made before it makes more.
 */
export function partsOf({ floatingNetwork }: OpenStackFields): readonly Step<Subject>[] {
  return floatingNetwork === undefined ? [server] : [port, floatingAddress, server];
}

const port: Step<Subject> = {
  name: 'port',
  make: async (subject) => {
    const {
      session,
      fields: { networks: [network] = [] },
      partName,
    } = subject;
    const [found] = await portsOf(subject);
    if (found !== undefined) return { port: found };
    if (network === undefined)
      throw new PluginError(
        'Invalid',
        'a floating address needs a network of the machine: name it in the field networks',
      );
    const made = await session.read(portSchema, 'network', {
      method: 'POST',
      path: '/ports',
      body: { port: { network_id: network, name: partName } },
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
  make: async (subject, { port: portId }) => {
    const {
      session,
      fields: { floatingNetwork },
    } = subject;
    if (typeof portId === 'string' && (await floatingsOf(session, portId)).length > 0) return {};
    await session.read(floatingSchema, 'network', {
      method: 'POST',
      path: '/floatingips',
      body: {
        floatingip: { floating_network_id: floatingNetwork, port_id: portId, description: subject.partName },
      },
    });
    return {};
  },
  undo: async (subject) => {
    for (const id of await portsOf(subject)) {
      for (const floating of await floatingsOf(subject.session, id))
        await subject.session.remove('network', `/floatingips/${floating}`);
    }
    return 'gone';
  },
};

const server: Step<Subject> = {
  name: 'server',
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
