import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { clientFault, Clients } from '../../src/plugins/clients.js';
import type { ClientAccount, PluginContext } from '../../src/plugins/contract.js';
import { PluginError } from '../../src/plugins/errors.js';
import { until } from '../harness/until.js';
import { failureOf, openPrograms, providerDescriptor, type ProgramBench } from '../harness/programs/bench.js';
import { newFolder } from '../harness/folder.js';

/** Says in a file what becomes of its client, and calls nothing without it. */
const toy = `
import { appendFileSync } from 'node:fs';
import { Provider } from 'heddle/plugin';
const say = (words) => appendFileSync(process.env.LEDGER, words + '\\n');
let starts = 0;
export class Toy extends Provider {
  static async start({ name, fields }) {
    starts += 1;
    say('start ' + name + ' ' + JSON.stringify(fields));
    if (fields.flaky === 'once' && starts === 1) throw new Error('no line');
    return { name, calls: 0 };
  }
  static async stop(client) { say('stop ' + client.name + ' after ' + client.calls); if (client.hangs) await new Promise(() => setTimeout(() => undefined, 60_000)); }
  async create({ fields }) {
    const client = await this.client();
    client.calls += 1;
    if (fields.how === 'hang') client.hangs = true;
    return { result: { providerid: client.name + '-' + client.calls } };
  }
  async confirm() {}
  async delete() {}
}`;

describe('a class with a client in the plugin host', () => {
  let bench: ProgramBench;
  let folder: string;
  let ledger: string;
  const said = (): readonly string[] =>
    readFileSync(ledger, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  const open = async (changes: Parameters<typeof openPrograms>[1] = {}): Promise<void> => {
    const admin = { region: { title: 'Region', type: 'string' }, flaky: { title: 'Flaky', type: 'string' } };
    bench = await openPrograms(
      {
        'providers/p/p.mjs': toy,
        'providers/p/p.json': providerDescriptor({
          entry: './p.mjs',
          class: 'Toy',
          environment: { LEDGER: ledger },
          fields: { admin, user: { how: { title: 'How', type: 'string' } } },
        }),
      },
      changes,
    );
  };
  beforeEach(() => {
    folder = newFolder();
    ledger = join(folder, 'ledger');
    writeFileSync(ledger, '');
  });

  test('starts it once for an account, passes it to each call, and stops it with the worker', async () => {
    await open({
      changes: {
        providers: {
          p: { type: 'p', site: 'here', fields: { region: 'north' } },
          q: { type: 'p', site: 'here', fields: {} },
        },
      },
    });
    expect((await bench.run('CREATE', '')).result).toMatchObject({ providerid: 'p-1' });
    expect((await bench.run('CREATE', "other users' fields change nothing")).result).toMatchObject({
      providerid: 'p-2',
    });
    expect(
      (await bench.run('CREATE', '', { more: { provider: { name: 'q', type: 'p', fields: {} } } })).result,
    ).toMatchObject({ providerid: 'q-1' });
    expect(said()).toEqual(['start p {"region":"north"}', 'start q {}']);
    await bench.close();
    expect(said().slice(2).toSorted()).toEqual(['stop p after 2', 'stop q after 1']);
  });

  test('fails the task if it does not start, with its name, and starts it at the next attempt', async () => {
    await open({ changes: { providers: { p: { type: 'p', site: 'here', fields: { flaky: 'once' } } } } });
    expect(await failureOf(bench.run('CREATE', ''))).toMatchObject({
      type: 'Retryable',
      message: 'CREATE app-1: plugin p could not start its client for p: no line',
    });
    expect((await bench.run('CREATE', '')).result).toMatchObject({ providerid: 'p-1' });
    await bench.close();
    expect(said().filter((line) => line.startsWith('start'))).toHaveLength(2);
  });

  test('does not block the worker if it does not stop', async () => {
    await open({ changes: { providers: { p: { type: 'p', site: 'here', fields: {} } } } });
    await bench.run('CREATE', 'hang');
    await bench.close();
    expect(said()).toContain('stop p after 1');
  });
});

describe('clients in the worker', () => {
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: () => undefined,
  };
  const contextOf = (
    name: string,
    fields: PluginContext['fields'],
  ): Pick<PluginContext, 'task' | 'fields' | 'log'> => ({
    fields,
    log,
    task: {
      taskId: 't',
      taskName: 'CREATE',
      clusterId: 'c',
      clusterUid: 'u',
      nodeId: 'n',
      incarnation: 1,
      attempt: 1,
      config: {},
      nodes: {},
      cluster: {},
      provider: { name, type: 'p', fields },
    },
  });
  const plan = { plugin: 'p', type: 'provider', adminFields: ['region'] } as const;

  test("are shared while they start, kept apart by the administrator's fields, and stopped", async () => {
    const started: string[] = [];
    const stopped: unknown[] = [];
    class Plugin {
      static start({ name, fields }: ClientAccount): Promise<object> {
        started.push(`${name} ${JSON.stringify(fields)}`);
        return Promise.resolve({ name });
      }

      static stop(client: unknown): void {
        stopped.push(client);
      }
    }
    const clients = new Clients(plan, Plugin, () => undefined);
    const open = (fields: PluginContext['fields']): Promise<unknown> =>
      clients.openerOf(contextOf('main', fields))?.() ?? Promise.reject(new Error('it has no client'));
    const [one, same, other] = await Promise.all([
      open({ region: 'a', how: 'x' }),
      open({ region: 'a', how: 'y' }),
      open({ region: 'b' }),
    ]);
    expect([one === same, one === other, started]).toEqual([
      true,
      false,
      ['main {"region":"a"}', 'main {"region":"b"}'],
    ]);
    await clients.close();
    expect(stopped).toEqual([one, other]);
    await expect(open({ region: 'c' })).rejects.toMatchObject({
      kind: 'Retryable',
      message: expect.stringContaining('this process is shutting down'),
    });
  });

  test('that fail keep the kind of their failure; one that starts while the worker ends is notified, and failures to stop are reported', async () => {
    const lines: string[] = [];
    class Plugin {
      static start({ fields, signal }: ClientAccount): Promise<object> {
        if (fields['region'] === 'refused') return Promise.reject(new PluginError('Auth', 'wrong key'));
        if (fields['region'] === 'slow')
          return new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason)),
          );
        return Promise.resolve({});
      }

      static stop(): void {
        throw new Error('still busy');
      }
    }
    const clients = new Clients(plan, Plugin, (text) => lines.push(text));
    const open = (region: string): Promise<unknown> =>
      clients.openerOf(contextOf('main', { region }))?.() ?? Promise.reject(new Error('it has no client'));
    await expect(open('refused')).rejects.toMatchObject({
      kind: 'Auth',
      message: 'plugin p could not start its client for main: wrong key',
    });
    await open('well');
    const slow = open('slow').catch((error: unknown) => error);
    await clients.close();
    expect(await slow).toMatchObject({
      kind: 'Retryable',
      message: expect.stringContaining('this process is shutting down'),
    });
    await until('the failure to be said', () => lines.length > 0);
    expect(lines).toEqual(['plugin p could not stop its client for main: still busy']);
  });

  test('that have stop without start are an error of the plugin', () => {
    class Plugin {
      static stop(): void {
        /* Nothing was started. */
      }
    }
    expect(clientFault(Plugin, 'Plugin')).toContain('a static stop but no static start');
  });
});
