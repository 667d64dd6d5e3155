import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controllerSchema, RedfishHttp } from '../../../../src/plugins/providers/redfish/http.js';
import { RedfishSystem } from '../../../../src/plugins/providers/redfish/system.js';
import { CountedCalls } from '../../../../src/testing/attempt.js';

/** A controller whose answers lead to a place of the attacker's choice. */
interface Hostile {
  /** Makes each link of an answer out of its path. */
  link: (path: string) => string;
  /** The path whose answers redirect. */
  redirects?: string;
}

async function listen(serve: (request: IncomingMessage, respond: Respond) => void): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    serve(request, (status, body, headers = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
type Respond = (status: number, body: object, headers?: Readonly<Record<string, string>>) => void;

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

// Promise: links-stay
describe('links in the answers of a Redfish controller', () => {
  const system = '/redfish/v1/Systems/1';
  const reset = `${system}/Actions/ComputerSystem.Reset`;
  const task = '/redfish/v1/Tasks/1';
  const hostile: Hostile = { link: (path) => path };
  const asked: string[] = [];
  const stolen: string[] = [];
  let controller: Server;
  let thief: Server;

  function answer(path: string, respond: Respond): void {
    const { link, redirects } = hostile;
    if (path === redirects) return respond(307, {}, { location: link(`${path}/moved`) });
    switch (path.replace(/\/moved$/, '')) {
      case '/redfish/v1/Systems':
        return respond(200, { Members: [{ '@odata.id': link(system) }] });
      case system:
        return respond(200, {
          '@odata.id': link(system),
          PowerState: 'Off',
          Actions: { '#ComputerSystem.Reset': { target: link(reset) } },
          Storage: { '@odata.id': link(`${system}/Storage`) },
          Links: { ManagedBy: [{ '@odata.id': link('/redfish/v1/Managers/1') }] },
        });
      case reset:
        return respond(202, {}, { location: link(task) });
      case task:
        return respond(200, { TaskState: 'Completed' });
      case `${system}/Storage`:
        return respond(200, { Members: [{ '@odata.id': link(`${system}/Storage/1`) }] });
      case '/redfish/v1/Managers/1':
        return respond(200, { NetworkProtocol: { '@odata.id': link('/redfish/v1/Managers/1/Protocols') } });
      default:
        return respond(200, {});
    }
  }

  beforeAll(async () => {
    controller = await listen(({ url = '' }, respond) => {
      asked.push(url);
      answer(url, respond);
    });
    thief = await listen(({ method, url, headers }, respond) => {
      stolen.push(`${method} ${url} ${headers.authorization}`);
      respond(200, { PowerState: 'On', Members: [] });
    });
  });
  afterAll(() => {
    controller.close();
    thief.close();
  });

  const places: Readonly<Record<string, (path: string) => string>> = {
    'an absolute URL': (path) => `http://127.0.0.1:${portOf(thief)}${path}`,
    'a URL without a scheme': (path) => `//127.0.0.1:${portOf(thief)}${path}`,
    'another scheme': (path) => `https://127.0.0.1:${portOf(controller)}${path}`,
    backslashes: (path) => `\\\\127.0.0.1:${portOf(thief)}${path}`,
    'a login before the host': (path) => `http://admin@127.0.0.1:${portOf(controller)}${path}`,
  };
  const uses: Readonly<Record<string, () => Promise<unknown>>> = {
    Members: () => open('').power(),
    '@odata.id of the system': () => open('1').setBoot('Pxe', 'Once'),
    'the target of a power command': () => open('1').reset(['On']),
    'Location of a task': () => open('1').reset(['On']),
    'links to hardware': () => open('1').hardware(),
    'links to a console': () => open('1').console(),
    'a redirect': () => open('1').power(),
  };

  function open(name: string): RedfishSystem {
    const url = `http://127.0.0.1:${portOf(controller)}`;
    const login = { user: 'admin', password: 'secret', system: name === '' ? undefined : name };
    const settings = controllerSchema.parse({ url, ...login });
    const { signal } = new AbortController();
    return new RedfishSystem(new RedfishHttp(settings, signal, new CountedCalls()), settings, signal);
  }

  it.each(Object.keys(uses))('are followed within the controller: %s', async (use) => {
    asked.length = 0;
    hostile.link = (path) => `http://127.0.0.1:${portOf(controller)}${path}`;
    hostile.redirects = use === 'a redirect' ? system : undefined;
    await uses[use]?.().catch((error: unknown) => {
      // This controller offers no console.
      expect(error).toMatchObject({ message: expect.stringContaining('offers no console') });
    });
    expect(asked.length).toBeGreaterThan(1);
  });

  describe.each(Object.keys(uses))('take no credentials and no command elsewhere: %s', (use) => {
    it.each(Object.keys(places))('by %s', async (place) => {
      stolen.length = 0;
      const elsewhere = places[place] as (path: string) => string;
      hostile.redirects = use === 'a redirect' ? system : undefined;
      hostile.link = (path) => (use === 'Location of a task' && path !== task ? path : elsewhere(path));
      const refusal = expect.stringMatching(/a different server than|a link that is not a valid URL/);
      // What a controller does not tell of its hardware and consoles is left out.
      if (use.startsWith('links to')) await uses[use]?.().catch(() => undefined);
      else await expect(uses[use]?.()).rejects.toMatchObject({ kind: 'Invalid', message: refusal });
      expect(stolen).toEqual([]);
    });
  });
});
