import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A provider on the machine service that gives no token: each CREATE makes a machine, and only a list tells
 * of those that are there, a while later. `patient` declares how much later; `hasty` declares nothing.
 */
export const lagCloud = { lagMs: 2_000 } as const;
export type LagType = 'patient' | 'hasty';

/** Gives a folder of plugins with these. */
export async function writeLagCloud(parent: string, types: readonly LagType[]): Promise<string> {
  const folder = join(parent, 'lag-cloud');
  for (const name of types) await writePlugin(join(folder, 'providers', name), name);
  return folder;
}

async function writePlugin(plugin: string, name: LagType): Promise<void> {
  await mkdir(plugin, { recursive: true, mode: 0o755 });
  const window = name === 'patient' ? lagCloud.lagMs + 500 : 0;
  await writeFile(
    join(plugin, `${name}.json`),
    JSON.stringify({
      name,
      type: 'provider',
      entry: './cloud.mjs',
      class: 'LagCloud',
      version: '1.0.0',
      description: 'Machines without client tokens, in lists that lag behind',
      idempotency: 'tag',
      consistencyWindowMs: window,
      callDeadlineMs: name === 'patient' ? 2_000 : 1_000,
      fields: {
        admin: {
          endpoint: { title: 'Address', type: 'string' },
          apiKey: { title: 'API key', type: 'string', secret: true },
        },
        required: { admin: [['endpoint', 'apiKey']] },
      },
    }),
  );
  await writeFile(join(plugin, 'cloud.mjs'), source);
}

const source = `
import { randomBytes } from 'node:crypto';

export class LagCloud {
  constructor({ fields, signal }) {
    this.fields = fields;
    this.signal = signal;
  }

  async create({ key, hostname, flavor, image, tags }) {
    const { body } = await this.call('POST', '/v1/machines', { key, token: randomBytes(32).toString('hex'), hostname, flavor, image, tags });
    return { result: { providerid: body.id, 'ssh-auth': { user: body.user } } };
  }

  async confirm({ providerid, key }) {
    const id = providerid ?? (await this.find(key))[0]?.providerid ?? 'unseen';
    const { status, body } = await this.call('GET', '/v1/machines/' + id);
    if (status === 410 || body.state === 'failed' || body.state === 'deleting') throw failure('Invalid', 'machine ' + id + ' is gone');
    if (status === 404 || body.state !== 'running') throw failure('NotReady', 'machine ' + id + ' is not there yet', 300);
    const { address, port, user, password, hostKey } = body;
    return { result: { providerid: id, ipaddress: address, 'ssh-port': port, 'ssh-auth': { user, password }, 'ssh-host-key': hostKey } };
  }

  async delete({ providerid, key }) {
    const ids = providerid === undefined ? (await this.find(key)).map((machine) => machine.providerid) : [providerid];
    for (const id of ids) {
      const { status } = await this.call('DELETE', '/v1/machines/' + id);
      if (status < 400) throw failure('NotReady', 'machine ' + id + ' is being deleted', 300);
    }
  }

  async find(key) {
    return this.machines('key=' + encodeURIComponent(key));
  }

  async list(tags) {
    return this.machines(Object.entries(tags).map(([name, value]) => 'tag=' + encodeURIComponent(name + '=' + value)).join('&'));
  }

  async machines(query) {
    const { body } = await this.call('GET', '/v1/machines?limit=1000&' + query);
    return body.machines.filter(({ state }) => state !== 'deleting').map(({ id, key, tags, state, user, address }) => ({
      providerid: id, key, tags, state: state === 'pending' || state === 'booting' ? 'starting' : state, address, created: { providerid: id },
    }));
  }

  async call(method, path, body) {
    let response;
    try {
      response = await fetch(this.fields.endpoint + path, {
        method, signal: this.signal, headers: { authorization: 'Bearer ' + this.fields.apiKey, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answer = await response.json();
      if (response.ok || response.status === 404 || response.status === 410) return { status: response.status, body: answer };
      if (answer.error?.code === 'InsufficientCapacity') throw failure('Capacity', answer.error.message);
    } catch (error) {
      if (error.name === 'PluginError') throw error;
      throw failure('Retryable', method + ' ' + path + ' got no answer: ' + error.message);
    }
    throw failure('Retryable', method + ' ' + path + ' was refused: ' + response.status);
  }
}

function failure(kind, message, retryAfterMs) {
  return Object.assign(new Error(message), { name: 'PluginError', kind, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
}
`;
