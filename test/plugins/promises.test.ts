import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Action } from '../../src/model/action.js';
import type { JsonObject } from '../../src/model/json.js';
import type { TaskOutcome, TaskRequest } from '../../src/model/node/task-request.js';
import { mergePayload } from '../../src/model/node/payload.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';
import { openPrograms, type ProgramBench } from '../harness/programs/bench.js';
import { request, runsWith } from '../harness/activities/parts.js';

// What the older provisioner's own pages promise to authors of plugins, each in their words, held here
// by the real activities. The plugins are in its own form: a descriptor that names a class, and the folder
// that tells the type.

/** Remembers what it was called with in its log; writes back what it is told. */
const provider = `
import { Provider } from 'heddle/plugin';
const note = (plugin, method, input) => plugin.log.info('called ' + method, { input, config: plugin.task.config, taskName: plugin.task.taskName });
export class MyProvider extends Provider {
  async create(inputmap) {
    note(this, 'create', inputmap);
    if (inputmap.fields.how === 'raise') throw new Error('raised');
    if (inputmap.fields.how === 'status') return { status: 7, stdout: 'out of a failure', stderr: 'error of a failure' };
    return { status: 0, result: { providerid: 'id-1', foo: 'bar', 'ssh-auth': { user: 'root' } } };
  }
  async confirm(inputmap) { note(this, 'confirm', inputmap); return { status: 0, result: { ipaddress: '127.0.0.1', 'ssh-port': 1, seen: this.task.config.foo } }; }
  async delete(inputmap) { note(this, 'delete', inputmap); return { status: 0 }; }
}`;

const automator = (name: string): string => `
import { Automator } from 'heddle/plugin';
export class ${name} extends Automator {
  act(method, auth, script, data) {
    for (const level of ['debug', 'info', 'warn', 'error']) this.log[level](level + ' of ' + method);
    const { ['ssh-auth']: _login, ...config } = this.task.config;
    this.log.info('called ' + method, { auth: { user: auth.user, hasPassword: 'password' in auth }, script, data, config, nodes: this.task.nodes });
    return { status: 0, result: { ['did-' + method + '-${name}']: true }, stdout: 'captured stdout of ' + method, stderr: 'captured stderr of ' + method };
  }
  async bootstrap(auth) { return this.act('bootstrap', auth); }
  async install(auth, script, data) { return this.act('install', auth, script, data); }
  async configure(auth, script, data) { return this.act('configure', auth, script, data); }
  async init(auth, script, data) { return this.act('init', auth, script, data); }
  async start(auth, script, data) { return this.act('start', auth, script, data); }
  async stop(auth, script, data) { return this.act('stop', auth, script, data); }
  async remove(auth, script, data) { return this.act('remove', auth, script, data); }
}`;

const peers = {
  'app-1': { hostname: 'web-app-1', ipaddress: '127.0.0.1', services: ['web'], nodenum: 1, group: 'app' },
  'db-1': { hostname: 'web-db-1', ipaddress: '127.0.0.2', services: [], nodenum: 2, group: 'db' },
};

// The intent to call CREATE is on record.
const runs = runsWith({ heartbeat: { mark: 'sent' } });

let bench: ProgramBench;
let node: TestNode;
beforeAll(async () => {
  node = await startNode();
  bench = await openPrograms(
    {
      'providers/my_provider/my_provider.json': { my_provider: { classname: 'MyProvider' } },
      'providers/my_provider/my_provider.mjs': provider,
      'automators/my-automator/my_automator.json': { my_automator: { classname: 'MyAutomator' } },
      'automators/my-automator/my_automator.mjs': automator('MyAutomator'),
      'automators/other/other.json': { other: { classname: 'Other' } },
      'automators/other/other.mjs': automator('Other'),
      'automators/other/data/recipe.txt': 'arbitrary data',
    },
    { changes: { runs, askPeers: () => Promise.resolve({ version: 1, changed: peers, gone: [] }) } },
  );
});
afterAll(async () => {
  await bench.close();
  await node.close();
});

const provide = (action: Action, how = '', more: Partial<TaskRequest> = {}): Promise<TaskOutcome> =>
  bench.run(action, how, { plugin: 'my_provider', more });

/** A task on a node that can be reached. */
function onNode(action: Action, service?: TaskRequest['service']): Promise<TaskOutcome> {
  const { host, port, user, password = '', hostKey } = node.target;
  const config = {
    hostname: 'web-app-1',
    ipaddress: host,
    'ssh-port': port,
    'ssh-auth': { user, password },
    'ssh-host-key': hostKey,
    foo: 'bar',
  };
  return bench.run(action, '', {
    plugin: 'my_provider',
    more: { taskId: `u/app-1#1/web/${action}/1`, config, service },
  });
}

const web = (type = 'my_automator'): NonNullable<TaskRequest['service']> =>
  ({ name: 'web', action: { type, fields: { script: 'the script', data: 'the data' } } }) as NonNullable<
    TaskRequest['service']
  >;

/** The attributes of the last line of the worker's log that begins so. */
function logged(words: string): JsonObject {
  const line = bench.logged.findLast((text) => text.startsWith(`${words} {`)) ?? `${words} was not logged {}`;
  // Behind it stand the facts of the task.
  return JSON.parse(line.slice(line.indexOf(' {') + 1, line.lastIndexOf(' {'))) as JsonObject;
}

async function failureOf(call: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await call.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (error instanceof ApplicationFailure) return error;
  throw error;
}

describe('provider plugins', () => {
  test("\"flavor = inputmap['flavor'], image = inputmap['image'], hostname = inputmap['hostname']\", and the fields", async () => {
    await provide('CREATE', 'well');
    expect(logged('called create')).toMatchObject({
      input: { flavor: 'small', image: 'host', hostname: 'web-app-1', fields: { how: 'well' } },
    });
  });

  test.each([
    ['CONFIRM', 'confirm'],
    ['DELETE', 'delete'],
  ] as const)('%s: "providerid = inputmap[\'providerid\']"', async (action, method) => {
    await provide(action, '', {
      config: { hostname: 'web-app-1', providerid: 'id-1', 'ssh-auth': { user: 'root' } },
    }).catch(() => undefined);
    expect(logged(`called ${method}`)).toMatchObject({ input: { providerid: 'id-1' }, taskName: action });
  });

  test('"the @task instance variable … contains the entire input for this task": config.provider.providertype', async () => {
    await provide('CREATE');
    expect(logged('called create')).toMatchObject({
      config: { provider: { providertype: 'my_provider' }, flavor: 'small' },
    });
  });

  test("\"@result['result']['key'] = 'value' … subsequent tasks will contain this information in 'config'\"", async () => {
    const { result } = await provide('CREATE');
    expect(result).toEqual({ providerid: 'id-1', foo: 'bar', 'ssh-auth': { user: 'root' } });
    const config = mergePayload(request({}).config, result ?? {});
    // SSH does not answer there, which is reported only after the plugin has seen what CREATE left.
    expect((await failureOf(provide('CONFIRM', '', { config }))).type).toBe('NotReady');
    expect(logged('called confirm')).toMatchObject({ config: { foo: 'bar', 'ssh-auth': { user: 'root' } } });
  });

  test('"\'status\': 0 for success, anything else for failure"; what it printed is shown', async () => {
    const failure = await failureOf(provide('CREATE', 'status'));
    expect(failure.message).toContain('plugin my_provider ended with status 7');
    expect(failure.details?.[0]).toMatchObject({
      stdout: 'out of a failure',
      stderr: 'error of a failure',
      exitCode: 7,
    });
  });

  test('"A raised exception will also result in failure"', async () => {
    expect((await failureOf(provide('CREATE', 'raise'))).message).toContain('raised');
  });
});

describe('automator plugins', () => {
  test.each([
    ['INSTALL', 'install'],
    ['CONFIGURE', 'configure'],
    ['INITIALIZE', 'init'],
    ['START', 'start'],
    ['STOP', 'stop'],
    ['REMOVE', 'remove'],
  ] as const)('%s: "def %s(ssh_auth_hash, script_string, data_string)"', async (action, method) => {
    const { result } = await onNode(action, web());
    expect(logged(`called ${method}`)).toMatchObject({
      auth: { user: node.target.user, hasPassword: true },
      script: 'the script',
      data: 'the data',
    });
    expect(result).toEqual({ [`did-${method}-MyAutomator`]: true });
  });

  test('"Loom then checks the task JSON for the service action type field to determine which plugin to invoke"', async () => {
    expect((await onNode('INSTALL', web('other'))).result).toEqual({ 'did-install-Other': true });
    expect(logged('called install')).toMatchObject({
      config: { service: { name: 'web', action: { type: 'other' } } },
    });
  });

  test('"def bootstrap(ssh_auth_hash)": "The bootstrap task will actually run the bootstrap impelementation for all registered automator plugins"', async () => {
    expect((await onNode('BOOTSTRAP')).result).toEqual({
      'did-bootstrap-MyAutomator': true,
      'did-bootstrap-Other': true,
    });
    expect(logged('called bootstrap')).toMatchObject({ auth: { user: node.target.user } });
  });

  test('"a bootstrap task is not tied to a service", "and may be run multiple times throughout the cluster lifecycle"', async () => {
    await onNode('BOOTSTRAP');
    expect(logged('called bootstrap')).not.toHaveProperty('config.service');
    await expect(onNode('BOOTSTRAP')).resolves.toMatchObject({ result: { 'did-bootstrap-Other': true } });
  });

  test('"a "nodes" hash in the task JSON which contains the hostnames and IP addresses of every node in the cluster"', async () => {
    await onNode('CONFIGURE', web());
    expect(logged('called configure')).toMatchObject({ nodes: peers });
  });

  test('"log.debug, log.info, log.warn, log.error"', async () => {
    await onNode('START', web());
    for (const level of ['debug', 'info', 'warn', 'error'])
      expect(bench.logged.some((line) => line.startsWith(`${level} of start `))).toBe(true);
  });

  test('"each task can return strings representing stdout and stderr to be displayed"', async () => {
    await expect(onNode('STOP', web())).resolves.toMatchObject({
      stdout: 'captured stdout of stop',
      stderr: 'captured stderr of stop',
    });
  });
});

describe('the framework', () => {
  test('"the directory structure": providers/my_provider/my_provider.json with {"my_provider": {"classname": "MyProvider"}}; "The name uniquely identifies each plugin, while the type groups related plugins together"', () => {
    const { registry } = bench.parts;
    expect(registry.provider('my_provider').descriptor).toMatchObject({
      name: 'my_provider',
      type: 'provider',
      class: 'MyProvider',
    });
    expect(registry.automator('my_automator').descriptor).toMatchObject({
      name: 'my_automator',
      type: 'automator',
      class: 'MyAutomator',
    });
  });

  test('"status is the only required return value"', async () => {
    await expect(provide('DELETE', '', { config: { providerid: 'id-1' } })).resolves.toMatchObject({
      result: {},
    });
  });

  test('"A plugin can contain any arbitrary data it needs … packaged with and considered as part of the plugin"', () => {
    const { folder, digest } = bench.parts.registry.automator('other');
    expect([folder, digest]).toEqual([
      expect.stringMatching(/automators\/other$/),
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ]);
  });
});
