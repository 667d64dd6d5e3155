import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { JsonObject } from '../../../../../src/model/json.js';

interface Reply {
  readonly status: number;
  readonly body: JsonObject | null;
}

const recording = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', 'recorded', 'replies.json'), 'utf8'),
) as { readonly replies: Readonly<Record<string, Reply>> };

export const secret = 'application-secret-of-the-tests';
export const flavor = 'heddle.small';
export const image = 'heddle-debian';
export const flavorId =
  (recorded('flavors').body as { readonly flavors: readonly { id: string }[] }).flavors[0]?.id ?? '';
export const imageId =
  (recorded('images').body as { readonly images: readonly { id: string }[] }).images[0]?.id ?? '';

const noImage = { code: '404 Not Found', title: 'Not Found', message: 'Failed to find image' };

export interface Cloud {
  readonly authUrl: string;
  /** How many servers the project may have. */
  quota: number;
  /** Whether servers become ACTIVE. */
  boots: boolean;
  /** A call, as in `calls`, whose connection is closed in place of an answer; nothing is done. */
  cutAt: string | undefined;
  /** May be changed by a test, as by somebody else. */
  readonly servers: Map<string, JsonObject>;
  readonly ports: Map<string, JsonObject>;
  /** Uploaded ones. */
  readonly images: Map<string, JsonObject>;
  readonly floating: Map<string, JsonObject>;
  /** Bodies of the calls that made servers. */
  readonly asked: readonly JsonObject[];
  /** Calls as `METHOD /path`, oldest first. */
  readonly calls: readonly string[];
  /** Makes tokens that were given void. */
  revoke(): void;
  close(): Promise<void>;
}

/**
 * A project whose services answer at one address what a real Keystone, Nova, Glance and Neutron answered
 * (`recorded`), with what was asked for put into it. A server is BUILD when it is first looked at, ACTIVE
 * afterwards, and gone at the second look after DELETE. Floating addresses are this double's own: they were
 * not recorded.
 */
export async function startCloud(): Promise<Cloud> {
  const servers = new Map<string, JsonObject>();
  const looked = new Set<string>();
  const deleted = new Set<string>();
  const stopped = new Set<string>();
  /** How many more times a server is shown as being switched. */
  const switching = new Map<string, number>();
  const ports = new Map<string, JsonObject>();
  const images = new Map<string, JsonObject>();
  const floating = new Map<string, JsonObject>();
  const asked: JsonObject[] = [];
  const calls: string[] = [];
  let token = randomUUID();
  const state: Pick<Cloud, 'quota' | 'boots' | 'cutAt'> = { quota: 100, boots: true, cutAt: undefined };

  const answerTo = (
    method: string,
    url: URL,
    { text, json: body }: { readonly text: Buffer; readonly json: JsonObject },
    given: string | undefined,
  ): Reply => {
    const path = url.pathname;
    if (path === '/v3/auth/tokens')
      return (body as { auth: { identity: { application_credential: { secret: string } } } }).auth.identity
        .application_credential.secret === secret
        ? tokenReply()
        : recorded('token refused');
    if (given !== token) return recorded('token unknown to nova');
    const kind = `${method} ${path.replace(/(servers|ports|floatingips|images)\/(?!detail$)[^/]+/, '$1/ID')}`;
    const id = path.split('/')[3] ?? '';
    switch (kind) {
      case 'GET /v2.1/flavors':
        return recorded('flavors');
      case 'GET /v2/images':
        if (url.searchParams.has('tag')) return listImages(url.searchParams.getAll('tag'));
        return [
          ['name', image],
          ['id', imageId],
        ].some(([key = '', value]) => url.searchParams.get(key) === `in:"${value}"`)
          ? recorded('images')
          : recorded('images none');
      case 'POST /v2/images':
        return createImage(body);
      case 'GET /v2/images/ID':
        return { status: images.has(id) ? 200 : 404, body: images.get(id) ?? noImage };
      case 'PUT /v2/images/ID/file':
        return storeImage(id, text.length);
      case 'DELETE /v2/images/ID':
        return images.delete(id) ? { status: 204, body: null } : { status: 404, body: noImage };
      case 'POST /v2.1/servers':
        return create(body['server'] as JsonObject);
      case 'GET /v2.1/limits':
        return { status: 200, body: { limits: { absolute: absoluteLimits() } } };
      case 'GET /v2.1/flavors/detail':
        return { status: 200, body: { flavors: [{ id: flavorId, name: flavor, vcpus: 2, ram: 2_048 }] } };
      case 'GET /v2.1/servers/detail':
        return list(url.searchParams.get('tags')?.split(',') ?? []);
      case 'GET /v2.1/servers/ID':
        return servers.has(id) ? show(id) : recorded('server gone');
      case 'POST /v2.1/servers/ID/action':
        return servers.has(id) ? act(id, body) : recorded('server gone');
      case 'DELETE /v2.1/servers/ID':
        return remove(id);
      case 'GET /v2.0/ports':
        return { status: 200, body: { ports: matching(ports, url, ['name']) } };
      case 'POST /v2.0/ports':
        return add(ports, 'port', body);
      case 'DELETE /v2.0/ports/ID':
        return removePort(id);
      case 'GET /v2.0/floatingips':
        return { status: 200, body: { floatingips: matching(floating, url, ['port_id']) } };
      case 'POST /v2.0/floatingips':
        return add(floating, 'floatingip', body);
      case 'DELETE /v2.0/floatingips/ID':
        return floating.delete(id) ? { status: 204, body: null } : noResource('Floatingip', id);
      default:
        return { status: 404, body: null };
    }
  };

  /** Glance's answers to uploads were not recorded. They are as in its reference. */
  function createImage(asked: JsonObject): Reply {
    const { name, disk_format: format, container_format: container, tags = [], ...properties } = asked;
    if (!Array.isArray(tags) || tags.some((tag) => String(tag).length > 255))
      return { status: 400, body: { code: '400 Bad Request', title: 'Bad Request', message: 'tags' } };
    const id = randomUUID();
    const made: JsonObject = {
      ...properties,
      id,
      name: name ?? null,
      disk_format: format ?? null,
      container_format: container ?? null,
      tags,
      status: 'queued',
      size: null,
      created_at: new Date().toISOString(),
    };
    images.set(id, made);
    return { status: 201, body: made };
  }

  function storeImage(id: string, size: number): Reply {
    const known = images.get(id);
    if (known === undefined) return { status: 404, body: noImage };
    if (known['status'] !== 'queued')
      return {
        status: 409,
        body: { code: '409 Conflict', title: 'Conflict', message: 'Image status transition is not allowed' },
      };
    images.set(id, { ...known, status: 'active', size });
    return { status: 204, body: null };
  }

  function listImages(tags: readonly string[]): Reply {
    const found = [...images.values()].filter((one) =>
      tags.every((tag) => (one['tags'] as readonly string[]).includes(tag)),
    );
    return { status: 200, body: { images: found, first: '/v2/images' } };
  }

  function absoluteLimits(): JsonObject {
    return {
      maxTotalInstances: state.quota,
      maxTotalCores: -1,
      maxTotalRAMSize: 51_200,
      totalInstancesUsed: servers.size,
      totalCoresUsed: 2 * servers.size,
      totalRAMUsed: 2_048 * servers.size,
    };
  }

  function tokenReply(): Reply {
    const reply = recorded('token');
    return {
      ...reply,
      body: {
        ...reply.body,
        token: {
          ...(reply.body?.['token'] as JsonObject),
          expires_at: new Date(Date.now() + 3_600_000).toISOString(),
        },
      },
    };
  }

  function create(request: JsonObject): Reply {
    const wanted = ((recorded('flavors').body ?? {})['flavors'] as readonly JsonObject[]).find(
      ({ name }) => name === flavor,
    );
    if (request['flavorRef'] !== wanted?.['id']) return recorded('create refused for its flavor');
    if (servers.size >= state.quota) return recorded('create refused for the quota');
    if (((request['tags'] ?? []) as readonly string[]).some((tag) => /[/,]/.test(tag) || tag.length > 60))
      return recorded('create refused for its tag');
    asked.push(request);
    const id = randomUUID();
    servers.set(id, {
      id,
      name: request['name'] ?? '',
      metadata: request['metadata'] ?? {},
      tags: request['tags'] ?? [],
      networks: request['networks'] ?? [],
    });
    const reply = recorded('create');
    return { ...reply, body: { server: { ...(reply.body?.['server'] as JsonObject), id } } };
  }

  /** Its answers were not recorded. They are as in Nova's reference. */
  function act(id: string, action: JsonObject): Reply {
    if ('os-getConsoleOutput' in action) return { status: 200, body: { output: `booting ${id}\nlogin: ` } };
    if ((switching.get(id) ?? 0) > 0)
      return {
        status: 409,
        body: {
          conflictingRequest: { code: 409, message: 'Cannot do so while it is in task_state powering-off' },
        },
      };
    switching.set(id, 2);
    if ('os-stop' in action) stopped.add(id);
    if ('os-start' in action) stopped.delete(id);
    return { status: 202, body: null };
  }

  function show(id: string): Reply {
    const reply = recorded(looked.has(id) && state.boots ? 'server' : 'server building');
    looked.add(id);
    const body = { server: shown(reply.body?.['server'] as JsonObject, id) };
    if (deleted.has(id)) servers.delete(id);
    return { ...reply, body };
  }

  function shown(template: JsonObject, id: string): JsonObject {
    const { networks, ...own } = servers.get(id) ?? {};
    const port = Array.isArray(networks)
      ? (networks as readonly JsonObject[]).find((one) => one['port'] !== undefined)?.['port']
      : undefined;
    const address = [...floating.values()].find((one) => one['port_id'] === port && port !== undefined);
    const addresses = template['addresses'] as Readonly<Record<string, readonly JsonObject[]>>;
    const reachable =
      address === undefined
        ? addresses
        : Object.fromEntries(
            Object.entries(addresses).map(([name, list]) => [
              name,
              [...list, { addr: '198.51.100.7', version: 4, 'OS-EXT-IPS:type': 'floating' }],
            ]),
          );
    const left = switching.get(id) ?? 0;
    switching.set(id, Math.max(0, left - 1));
    const power: JsonObject = !stopped.has(id)
      ? {}
      : { status: 'SHUTOFF', 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 };
    const task: JsonObject = left > 0 ? { 'OS-EXT-STS:task_state': 'powering-off' } : {};
    return { ...template, ...own, ...power, ...task, addresses: reachable };
  }

  function list(tags: readonly string[]): Reply {
    const found = [...servers].filter(([, one]) =>
      tags.every((tag) => (one['tags'] as readonly string[]).includes(tag)),
    );
    const template = recorded('server').body?.['server'] as JsonObject;
    return found.length === 0
      ? recorded('list none')
      : { status: 200, body: { servers: found.map(([id]) => shown(template, id)) } };
  }

  function remove(id: string): Reply {
    if (deleted.has(id)) servers.delete(id);
    if (!servers.has(id)) return recorded('delete of the gone');
    deleted.add(id);
    return recorded('delete');
  }

  function matching(
    from: ReadonlyMap<string, JsonObject>,
    { searchParams }: URL,
    filters: readonly string[],
  ) {
    return [...from.values()].filter((one) =>
      filters.every((name) => !searchParams.has(name) || one[name] === searchParams.get(name)),
    );
  }

  /** As with Neutron, the floating address of a deleted port stays, without a port. */
  function removePort(id: string): Reply {
    if (!ports.delete(id)) return noResource('Port', id);
    for (const [key, one] of floating)
      if (one['port_id'] === id) floating.set(key, { ...one, port_id: null });
    return { status: 204, body: null };
  }

  function noResource(kind: string, id: string): Reply {
    const message = `${kind} ${id} could not be found.`;
    return { status: 404, body: { NeutronError: { type: `${kind}NotFound`, message, detail: '' } } };
  }

  function add(to: Map<string, JsonObject>, name: string, body: JsonObject): Reply {
    const one = {
      description: '',
      ...(body[name] as JsonObject),
      id: randomUUID(),
      created_at: new Date().toISOString(),
    };
    to.set(one.id, one);
    return { status: 201, body: { [name]: one } };
  }

  const server = createServer((incoming, outgoing) => {
    void readAll(incoming).then((text) => {
      const url = new URL(incoming.url ?? '/', 'http://cloud');
      const call = `${incoming.method ?? ''} ${url.pathname}`;
      calls.push(call);
      if (call === state.cutAt) return void incoming.socket.destroy();
      const { status, body } = answerTo(
        incoming.method ?? '',
        url,
        {
          text,
          json: isJson(incoming) && text.length > 0 ? (JSON.parse(text.toString()) as JsonObject) : {},
        },
        incoming.headers['x-auth-token']?.toString(),
      );
      outgoing.writeHead(status, {
        'content-type': 'application/json',
        ...(url.pathname === '/v3/auth/tokens' && status === 201 ? { 'x-subject-token': token } : {}),
      });
      outgoing.end(body === null ? '' : JSON.stringify(body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    authUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    servers,
    ports,
    images,
    floating,
    asked,
    calls,
    get quota() {
      return state.quota;
    },
    set quota(value) {
      state.quota = value;
    },
    get boots() {
      return state.boots;
    },
    set boots(value) {
      state.boots = value;
    },
    get cutAt() {
      return state.cutAt;
    },
    set cutAt(value) {
      state.cutAt = value;
    },
    revoke: () => {
      token = randomUUID();
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

export function recorded(name: string): Reply {
  const reply = recording.replies[name];
  if (reply === undefined) throw new Error(`nothing is recorded of: ${name}`);
  return reply;
}

function isJson({ headers }: IncomingMessage): boolean {
  return headers['content-type']?.startsWith('application/json') === true;
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
