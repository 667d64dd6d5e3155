import { randomUUID } from 'node:crypto';
import { PluginError, Provider, takeSteps, undoSteps } from 'heddle/plugin';

// A machine is a volume, an address, a server, and their attachments, as at many clouds: nothing but the key
// on each part identifies it, so a call that is repeated makes a second one.

const lookAgainMs = 200;

/** A volume or an address. */
const extra = (kind, name) => ({
  name,
  find: async ({ api, key }) => {
    const [found] = await api.extras(kind, key);
    return found && { [name]: found.id };
  },
  make: async ({ api, key, tags }) => {
    const { body } = await api.call('POST', `/v1/${kind}`, { key, token: randomUUID(), tags });
    return { [name]: body.id };
  },
  undo: async ({ api, key }) => {
    for (const { id } of await api.extras(kind, key)) await api.call('DELETE', `/v1/${kind}/${id}`);
    return 'gone';
  },
});

const attachment = (kind, name) => ({
  name: `${name} attachment`,
  find: async ({ api, key }, { providerid }) => {
    const [found] = await api.extras(kind, key);
    return found?.machine === providerid ? {} : undefined;
  },
  make: async ({ api }, made) => {
    await api.call('POST', `/v1/${kind}/${made[name]}/attach`, { machine: made.providerid });
    return {};
  },
  // It ends with the server.
  undo: async () => 'gone',
});

const server = {
  name: 'server',
  find: async ({ api, key }) => {
    const [found] = await api.machines(`key=${encodeURIComponent(key)}`);
    return found && { providerid: found.id };
  },
  make: async ({ api, key, tags, request }) => {
    const { body } = await api.call('POST', '/v1/machines', { key, token: randomUUID(), tags, ...request });
    return { providerid: body.id };
  },
  undo: async ({ api, key }) => {
    const found = await api.machines(`key=${encodeURIComponent(key)}`);
    for (const { id } of found) await api.call('DELETE', `/v1/machines/${id}`);
    return found.length > 0 ? 'going' : 'gone';
  },
};

const steps = [
  extra('volumes', 'volume'),
  extra('addresses', 'address'),
  server,
  attachment('volumes', 'volume'),
  attachment('addresses', 'address'),
];

export class Assembled extends Provider {
  async create({ key, tags, hostname, flavor, image }) {
    const subject = { api: this.api(), key, tags, request: { hostname, flavor, image } };
    if (this.fields.records) return { result: await takeSteps(steps, subject, this.record) };
    let made = {};
    for (const step of steps)
      made = { ...made, ...((await step.find(subject, made)) ?? (await step.make(subject, made))) };
    return { result: made };
  }

  async confirm({ providerid, key }) {
    const { status, body } = await this.api().call(
      'GET',
      `/v1/machines/${providerid}?key=${encodeURIComponent(key)}`,
    );
    if (status >= 400 || body.state !== 'running')
      throw new PluginError('NotReady', `machine ${providerid} is not ready`, { retryAfterMs: lookAgainMs });
    const { address, port, user, password, hostKey } = body;
    return {
      result: {
        ipaddress: address,
        'ssh-port': port,
        'ssh-auth': { user, password },
        'ssh-host-key': hostKey,
      },
    };
  }

  async delete({ key }) {
    await undoSteps(steps, { api: this.api(), key }, lookAgainMs);
  }

  async find(key) {
    const api = this.api();
    const found = await api.machines(`key=${encodeURIComponent(key)}`);
    const [[volume], [address]] = [await api.extras('volumes', key), await api.extras('addresses', key)];
    return found.map(({ id, tags, state }) => ({
      providerid: id,
      key,
      tags,
      state: state === 'running' ? 'running' : 'starting',
      ...(volume?.machine === id && address?.machine === id
        ? { created: { providerid: id, volume: volume.id, address: address.id } }
        : {}),
    }));
  }

  api() {
    const { endpoint, apiKey } = this.fields;
    const headers = {
      authorization: `Bearer ${typeof apiKey === 'string' ? apiKey : ''}`,
      'content-type': 'application/json',
    };
    const call = async (method, path, body) => {
      const response = await fetch(endpoint + path, {
        method,
        headers,
        signal: this.signal,
        body: body && JSON.stringify(body),
      }).catch((cause) => {
        throw new PluginError('Retryable', `${method} ${path} got no answer`, { cause });
      });
      const { status } = response;
      const answer = await response.json();
      if (status < 300 || status === 404 || status === 410) return { status, body: answer };
      throw new PluginError(status === 409 ? 'NotReady' : 'Retryable', `${method} ${path}: ${status}`);
    };
    return {
      call,
      extras: async (kind, key) =>
        (await call('GET', `/v1/${kind}?key=${encodeURIComponent(key)}`)).body[kind],
      machines: async (query) => (await call('GET', `/v1/machines?limit=1000&${query}`)).body.machines,
    };
  }
}
