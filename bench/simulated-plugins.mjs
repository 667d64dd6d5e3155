// A simulated cloud for bench/pools.mjs: it is in the process of the bench, so that it outlives killed
// workers. And plugins that do nothing, for bench/overhead.mjs.
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Automator, PluginError, Provider } from '../dist/plugins/contract.js';

/**
 * @import { CreateInput, MachineInput } from '../dist/plugins/contract.js'
 * @import { Descriptor } from '../dist/schema/descriptor.js'
 */

/** Machines are active so many ms after they were asked for. @param {number} activeAfterMs */
export async function startCloud(activeAfterMs) {
  const machines = new Map();
  const counts = { created: 0, deleted: 0 };
  const byToken = new Map();
  const server = createServer((incoming, outgoing) => {
    const [, verb, id] = (incoming.url ?? '').split('/');
    /** @param {object} body */
    const answer = (body) => outgoing.end(JSON.stringify(body));
    if (verb === 'create') {
      let made = byToken.get(id);
      if (made === undefined) {
        counts.created += 1;
        made = { id: `m-${counts.created}`, at: Date.now() };
        byToken.set(id, made);
        machines.set(made.id, made);
      }
      return answer({ id: made.id });
    }
    const machine = machines.get(id);
    if (verb === 'look')
      return answer(
        machine === undefined
          ? { state: 'gone' }
          : {
              state: Date.now() - machine.at >= activeAfterMs ? 'active' : 'building',
              leftMs: machine.at + activeAfterMs - Date.now(),
            },
      );
    if (machines.delete(id)) counts.deleted += 1;
    return answer({});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { port, counts, machines, stop: () => server.close() };
}

/**
 * A provider plugin, as the registry holds one; it is never looked for in folders.
 * @param {import('node:http').Agent} agent
 * @param {number} port
 */
export function cloudProvider(agent, port) {
  /** @type {(path: string) => Promise<any>} */
  const ask = (path) =>
    new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, path, agent }, (response) => {
        let text = '';
        response
          .setEncoding('utf8')
          .on('data', (chunk) => {
            text += chunk;
          })
          .on('end', () => resolve(JSON.parse(text)));
      })
        .on('error', reject)
        .end();
    });
  class Simulated extends Provider {
    /** @param {CreateInput} input */
    async create({ token }) {
      const { id } = await ask(`/create/${token}`);
      return { result: { providerid: id, 'ssh-auth': { user: 'root' } } };
    }

    /** @param {MachineInput} input */
    async confirm({ providerid }) {
      const { state, leftMs } = await ask(`/look/${providerid}`);
      if (state === 'gone') throw new PluginError('Invalid', 'it is gone');
      if (state !== 'active') throw new PluginError('NotReady', 'it is building', { retryAfterMs: leftMs });
      return { result: { ipaddress: '127.0.0.1', 'ssh-port': 22, 'ssh-host-key': 'simulated' } };
    }

    /** @param {MachineInput} input */
    async delete({ providerid }) {
      await ask(`/delete/${providerid}`);
      return {};
    }
  }
  return registered({ ...descriptor, type: 'provider' }, Simulated);
}

/** Machines that exist as soon as they are asked for. */
export function emptyProvider() {
  class Empty extends Provider {
    /** @param {CreateInput} input */
    async create({ key }) {
      return { result: { providerid: key, 'ssh-auth': { user: 'root' } } };
    }

    async confirm() {
      return { result: { ipaddress: '127.0.0.1', 'ssh-port': 22, 'ssh-host-key': 'simulated' } };
    }

    async delete() {
      return {};
    }
  }
  return registered({ ...descriptor, type: 'provider' }, Empty);
}

/** Actions that do nothing, or wait for the ms of their field. */
export function emptyAutomator() {
  class Empty extends Automator {
    async bootstrap() {}
    install = () => this.#wait();
    configure = () => this.#wait();
    init = () => this.#wait();
    start = () => this.#wait();
    stop = () => this.#wait();
    remove = () => this.#wait();

    async #wait() {
      const waitMs = Number(this.task.service?.action.fields['waitMs']);
      if (waitMs > 0) await delay(waitMs);
    }
  }
  return registered({ ...descriptor, type: 'automator' }, Empty);
}

/** @satisfies {Partial<Descriptor>} */
const descriptor = {
  name: 'simulated',
  entry: '-',
  class: '-',
  version: '1.0.0',
  description: '-',
  requests: [],
  abilities: [],
  environment: {},
  limits: {},
  idempotency: 'token',
  consistencyWindowMs: 0,
  callDeadlineMs: 60_000,
  serial: false,
  countsCalls: false,
  prepares: 'all',
  needs: [],
  capabilities: [],
};

/**
 * @template Context, Instance
 * @param {Descriptor} descriptor
 * @param {new (context: Context) => Instance} Class
 * @returns {import('../dist/plugins/registered.js').RegisteredPlugin<Context, Instance>}
 */
function registered(descriptor, Class) {
  return {
    descriptor,
    digest: '-',
    folder: '/',
    abilities: [],
    isProgram: false,
    create: (context) => new Class(context),
  };
}
