import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json, JsonObject } from '../../../../../src/model/json.js';
import { freePort } from '../../../../harness/free-port.js';
import { startNode, type TestNode } from '../../../../harness/ssh-server.js';
import { bootedKey } from '../../aws/support/user-data.js';

export interface DigitalOcean {
  readonly endpoint: string;
  readonly token: string;
  readonly sshPort: number;
  readonly flavor: string;
  readonly image: string;
  readonly region: string;
  close(): Promise<void>;
}

interface Droplet {
  readonly body: JsonObject;
  readonly node: TestNode;
  readonly address: string;
  looks: number;
  /** Whether its system ignores a request to shut down. */
  readonly isDeaf: boolean;
  isOff: boolean;
  /** How many more times it is shown as locked by an action. */
  locked: number;
}

interface Answer {
  readonly status: number;
  readonly body?: Json;
}

/** Droplets in one page of a list. */
const pageSize = 2;

/**
 * DigitalOcean's API v2 as far as droplets go, by its public reference. A droplet is `new` when
 * it is first looked at and `active` afterwards, and locked for a while after an action; behind
 * its address a real SSH server has the host key of its user data.
 */
export async function startDigitalOcean({ isDeaf = false } = {}): Promise<DigitalOcean> {
  const token = 'dop_v1_token-of-the-suite';
  const [flavor, image, region] = ['s-1vcpu-1gb', 'debian-12-x64', 'fra1'];
  const sizes = [
    { slug: flavor, regions: [region] },
    { slug: 'elsewhere', regions: ['nyc1'] },
  ].map((size) => ({
    ...size,
    vcpus: 1,
    memory: 1024,
    disk: 25,
    transfer: 1,
    price_monthly: 6,
    price_hourly: 0.01,
  }));
  const droplets = new Map<number, Droplet>();
  const sshPort = await freePort();
  /** A block of loopback for this one. */
  const block = `127.${64 + (process.pid % 128)}.${sshPort % 250}`;
  let created = 0;

  async function answerTo(method: string, url: URL, body: JsonObject): Promise<Answer> {
    const [, number, action] = /^\/v2\/droplets\/(\d+)(\/actions)?$/.exec(url.pathname) ?? [];
    const id = Number(number);
    const droplet = droplets.get(id);
    if (url.pathname === '/v2/sizes') return { status: 200, body: { sizes, links: {}, meta: { total: 2 } } };
    if (url.pathname === `/v2/images/${image}`) return { status: 200, body: { image: { slug: image } } };
    if (url.pathname === '/v2/droplets') return method === 'POST' ? create(body) : list(url);
    if (droplet === undefined)
      return {
        status: 404,
        body: { id: 'not_found', message: 'The resource you requested could not be found.' },
      };
    if (action !== undefined) return act(droplet, body['type'] as string);
    if (method !== 'DELETE') return { status: 200, body: { droplet: shown(droplet) } };
    droplets.delete(id);
    await droplet.node.close();
    return { status: 204 };
  }

  function act(droplet: Droplet, type: string): Answer {
    if (droplet.locked > 0)
      return {
        status: 422,
        body: { id: 'unprocessable_entity', message: 'Droplet already has a pending event.' },
      };
    const isOff = type === 'power_off' || type === 'shutdown';
    if (type === 'power_on' && !droplet.isOff)
      return { status: 422, body: { id: 'unprocessable_entity', message: 'Droplet is already on.' } };
    droplet.locked = 2;
    if (type !== 'shutdown' || !droplet.isDeaf) droplet.isOff = isOff;
    return { status: 201, body: { action: { type, status: 'in-progress' } } };
  }

  async function create(asked: JsonObject): Promise<Answer> {
    const { name = '', size, tags = [], user_data: userData } = asked;
    const wrong = [
      ...(size === flavor ? [] : ['You specified an invalid size for Droplet creation.']),
      ...(asked['image'] === image ? [] : ['You specified an invalid image for Droplet creation.']),
      ...(asked['region'] === region ? [] : ['You specified an invalid region for Droplet creation.']),
      ...((tags as readonly string[]).every((tag) => /^[\w:-]{1,255}$/.test(tag)) ? [] : ['invalid tag']),
    ];
    if (wrong.length > 0)
      return { status: 422, body: { id: 'unprocessable_entity', message: wrong.join(' ') } };
    created += 1;
    const id = created;
    const address = `${block}.${id + 1}`;
    const hostKey = bootedKey(Buffer.from(userData as string).toString('base64'));
    const node = await startNode({
      listen: { host: address, port: sshPort },
      hostKeys: hostKey === undefined ? undefined : [hostKey],
    });
    const droplet: Droplet = {
      body: { id, name, tags, created_at: new Date().toISOString(), region: { slug: region, name: region } },
      node,
      address,
      looks: 0,
      isDeaf,
      isOff: false,
      locked: 0,
    };
    droplets.set(id, droplet);
    return { status: 202, body: { droplet: shown(droplet) } };
  }

  function list(url: URL): Answer {
    const page = Number(url.searchParams.get('page') ?? 1);
    const last = Math.max(1, Math.ceil(droplets.size / pageSize));
    const items = [...droplets.values()].slice((page - 1) * pageSize, page * pageSize).map(shown);
    const address = `https://api.digitalocean.com/v2/droplets?page=${last}`;
    const links: JsonObject = page < last ? { pages: { last: address } } : {};
    return { status: 200, body: { droplets: items, links, meta: { total: droplets.size } } };
  }

  function shown(droplet: Droplet): JsonObject {
    droplet.looks += 1;
    const isActive = droplet.looks > 2;
    const locked = droplet.locked > 0;
    droplet.locked = Math.max(0, droplet.locked - 1);
    const networks = {
      v4: isActive ? [{ ip_address: droplet.address, netmask: '255.0.0.0', type: 'public' }] : [],
      v6: [],
    };
    const status = !isActive ? 'new' : droplet.isOff && !locked ? 'off' : 'active';
    return { ...droplet.body, status, locked, networks };
  }

  const server = createServer((incoming, outgoing) => {
    void readAll(incoming)
      .then((text): Answer | Promise<Answer> =>
        incoming.headers.authorization === `Bearer ${token}`
          ? answerTo(
              incoming.method ?? '',
              new URL(incoming.url ?? '/', 'http://api'),
              (text === '' ? {} : JSON.parse(text)) as JsonObject,
            )
          : { status: 401, body: { id: 'Unauthorized', message: 'Unable to authenticate you' } },
      )
      .then(
        ({ status, body }) => {
          outgoing.writeHead(status, { 'content-type': 'application/json' });
          outgoing.end(body === undefined ? '' : JSON.stringify(body));
        },
        () => incoming.socket.destroy(),
      );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    sshPort,
    flavor,
    image,
    region,
    async close() {
      server.close();
      server.closeAllConnections();
      await Promise.all([...droplets.values()].map(({ node }) => node.close()));
    },
  };
}

async function readAll(stream: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
