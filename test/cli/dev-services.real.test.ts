import { beforeAll, describe, expect, inject, it } from 'vitest';
import { startServicesAgain } from '../../src/cli/system/dev-services.js';
import { loadConfig } from '../../src/config/index.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { openLedger, type Ledger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

describe('services of local machines that rebooted', () => {
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    stack = await startStack();
    ledger = openLedger(stack.folder);
    await stack.startWorker();
  });

  const spec = (name: string, more: object = {}, installs = 'true') =>
    closed({
      name,
      nodes: { app: nodes(1, ['web', 'job']) },
      services: {
        web: { actions: { start: ledger.script() } },
        job: { actions: { start: ledger.script({ body: installs }) } },
      },
      ...more,
    });
  const apply = async (name: string, more: object = {}, installs = 'true'): Promise<string> => {
    const { operation } = await stack.client.apply(spec(name, more, installs));
    return (await stack.client.waitFor(name, operation)).operation.state;
  };
  const powerCut = async (name: string): Promise<void> => {
    const machineOf = async () =>
      (await stack.service.machines()).find(({ hostname }) => hostname === `${name}-app-1`);
    const id = String((await machineOf())?.['id']);
    for (const power of ['off', 'on'])
      await stack.service.call('POST', `/v1/machines/${id}/power`, { power });
    await until('the machine runs again', async () => (await machineOf())?.['state'] === 'running');
  };
  /** What `heddle dev` prints about one cluster when its machine service is back. */
  const said = async (name: string): Promise<readonly string[]> => {
    const lines: string[] = [];
    const { endpoint, apiKeyFile } = stack.service;
    await startServicesAgain({
      config: loadConfig({
        env: { HOME: stack.folder, HEDDLE_DATA_FOLDER: stack.folder, TEMPORAL_CONFIG_FILE: '/dev/null' },
      }),
      record: () =>
        Promise.resolve({
          address: inject('temporalAddress'),
          namespace: stack.namespace,
          machines: { endpoint, apiKeyFile },
        }),
      say: (line) => lines.push(line),
      signal: new AbortController().signal,
    });
    return lines.filter((line) => line.includes(name));
  };
  const down = (name: string): string => `1 machine of cluster ${name} rebooted, and`;

  it('the command that starts them is shown if the file forbids starting them', async () => {
    expect(await apply('quiet', { repair: { rebooted: 'nothing' } })).toBe('done');
    await powerCut('quiet');
    expect(await said('quiet')).toEqual([
      `${down('quiet')} its file says \`repair: {rebooted: nothing}\`; down: web on app-1, job on app-1; next: heddle restart quiet web job`,
    ]);
    const { operation } = await stack.client.operate('quiet', { kind: 'restart', services: ['web', 'job'] });
    expect((await stack.client.waitFor('quiet', operation)).operation.state).toBe('done');
    for (const service of ['web', 'job'])
      expect(await ledger.lines(`quiet app-1 ${service} START end`)).toHaveLength(2);
    await stack.client.probe('quiet');
    const [node] = (await stack.client.status('quiet')).nodes;
    expect(node).toMatchObject({ running: ['web', 'job'] });
    expect(node?.drift).toBeUndefined();
  });

  it('status is the next command shown if an operation has not ended', async () => {
    expect(await apply('busy')).toBe('done');
    expect(await apply('busy', {}, 'exit 3')).toBe('held');
    await powerCut('busy');
    expect(await said('busy')).toEqual([
      `${down('busy')} operation 2 has not ended; down: web on app-1, job on app-1; next: heddle status busy`,
    ]);
  });

  it('apply is the next command shown if the last apply did not succeed', async () => {
    expect(await apply('broken')).toBe('done');
    expect(await apply('broken', {}, 'exit 3')).toBe('held');
    await stack.client.cancel('broken');
    await powerCut('broken');
    expect(await said('broken')).toEqual([
      `${down('broken')} its last apply did not succeed; down: web on app-1, job on app-1; next: heddle apply FILE`,
    ]);
  });

  it('an apply of the same file starts them otherwise', async () => {
    expect(await apply('fine')).toBe('done');
    await powerCut('fine');
    expect(await said('fine')).toEqual([
      '1 machine of cluster fine rebooted; operation 2 starts their services',
    ]);
    expect((await stack.client.waitFor('fine', '2')).operation.state).toBe('done');
  });
});
