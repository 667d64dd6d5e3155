import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { nextSteps } from '../../src/cli/cluster/next-steps.js';
import { openGround } from '../harness/machine/ground.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { openLedger, type Ledger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

describe('a task whose machine or plugin is dead', () => {
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    stack = await startStack({
      config: { plugins: ['./plugins'] },
      accounts: { mute: { type: 'mute', fields: {} } },
    });
    await writeMutePlugin(join(stack.folder, 'plugins', 'providers', 'mute'));
    ledger = openLedger(stack.folder);
    await stack.startWorker();
  });

  /** A provider whose CREATE never answers. */
  async function writeMutePlugin(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    const descriptor = {
      name: 'mute',
      type: 'provider',
      command: ['./mute.sh'],
      version: '1.0.0',
      description: 'A provider that never answers',
      idempotency: 'token',
      callDeadlineMs: 300,
    };
    await writeFile(join(folder, 'mute.json'), JSON.stringify(descriptor));
    await writeFile(
      join(folder, 'mute.sh'),
      '#!/bin/sh\ngrep -q \'"call":"delete"\' && { echo \'{"status": 0}\'; exit; }\necho create >>\'' +
        join(folder, 'calls') +
        "'\nsleep 600\n",
    );
    await chmod(join(folder, 'mute.sh'), 0o755);
  }

  const apply = async (name: string, more: object = {}): Promise<string> => {
    const services = { web: { actions: { install: ledger.script({ gate: name }), start: ledger.script() } } };
    const spec = closed({ name, nodes: { app: nodes(1, ['web']) }, services, ...more });
    return (await stack.client.apply(spec)).operation;
  };
  const machineOf = async (name: string): Promise<string> => {
    await ledger.written(`${name} app-1 web INSTALL begin`);
    return String((await stack.client.status(name)).nodes[0]?.providerid);
  };
  const remove = async (name: string): Promise<void> => {
    const { operation = '' } = await stack.client.delete(name);
    expect((await stack.client.waitFor(name, operation)).operation.state).toBe('done');
  };

  it.concurrent('holds the operation when the provider shows the machine as switched off', async () => {
    const operation = await apply('off');
    await stack.service.call('POST', `/v1/machines/${await machineOf('off')}/power`, { power: 'off' });
    const { operation: held, status } = await stack.client.waitFor('off', operation);
    expect(held).toMatchObject({
      state: 'held',
      reason: expect.stringContaining('reports that it is switched off'),
    });
    expect(status.nodes).toMatchObject([
      { incarnation: 1, failure: { kind: 'MachineLost', action: 'INSTALL' }, drift: { seen: 'stopped' } },
    ]);
    expect(nextSteps(status, Date.now()).map(({ command }) => command)).toEqual([
      'heddle replace off app-1',
      'heddle retry off',
      'heddle apply FILE',
      'heddle cancel off',
      'heddle delete off',
    ]);
    await ledger.open('off');
    await stack.client.operate('off', { kind: 'replace', nodes: ['app-1'] });
    const { operation: replaced, status: after } = await stack.client.waitFor('off', operation);
    expect(replaced.state).toBe('done');
    expect(after.nodes).toMatchObject([{ incarnation: 2, state: 'ready' }]);
    await remove('off');
  });

  it.concurrent('gets a new machine if the old one is gone, as repair says', async () => {
    const operation = await apply('gone');
    await stack.service.call('DELETE', `/v1/machines/${await machineOf('gone')}`);
    await ledger.open('gone');
    const { operation: done, status } = await stack.client.waitFor('gone', operation);
    expect(done).toMatchObject({ state: 'done', repairs: 1 });
    expect(status.nodes).toMatchObject([{ incarnation: 2, state: 'ready' }]);
    expect(status.nodes[0]?.drift).toBeUndefined();
    await remove('gone');
  });

  it.concurrent('is held with repair: {gone: nothing}, and delete takes the cluster down', async () => {
    const operation = await apply('kept', { repair: { gone: 'nothing' } });
    await stack.service.call('DELETE', `/v1/machines/${await machineOf('kept')}`);
    const { operation: held } = await stack.client.waitFor('kept', operation);
    expect(held).toMatchObject({ state: 'held', failures: [{ kind: 'MachineLost' }] });
    expect(held.repairs).toBeUndefined();
    await remove('kept');
  });

  it.concurrent('fails as a script that died, not as a lost machine, if the machine only restarts', async () => {
    const operation = await apply('back');
    const machine = await machineOf('back');
    await stack.service.call('POST', `/v1/machines/${machine}/power`, { power: 'off' });
    await stack.service.call('POST', `/v1/machines/${machine}/power`, { power: 'on' });
    const { operation: held, status } = await stack.client.waitFor('back', operation);
    expect(held.state).toBe('held');
    expect(status.nodes).toMatchObject([{ incarnation: 1, failure: { kind: 'ScriptFailed' } }]);
    await remove('back');
  });

  it.concurrent('is held after a plugin hung twice in a row, and status names the ways out', async () => {
    const spec = closed({ name: 'mute', nodes: { app: nodes(1, [], { provider: 'mute' }) } });
    const { operation } = await stack.client.apply(spec);
    const { operation: held, status } = await stack.client.waitFor('mute', operation);
    expect(held).toMatchObject({
      state: 'held',
      reason: expect.stringContaining('plugin mute hangs: it did not answer create in time'),
    });
    expect(status.nodes).toMatchObject([{ incarnation: 1, failure: { kind: 'Internal', action: 'CREATE' } }]);
    expect(nextSteps(status, Date.now()).map(({ command }) => command)).toEqual(
      expect.arrayContaining(['heddle retry mute', 'heddle cancel mute']),
    );
    // A line for each call of CREATE.
    expect((await readFile(join(stack.folder, 'plugins', 'providers', 'mute', 'calls'), 'utf8')).trim()).toBe(
      'create\ncreate',
    );
    await remove('mute');
  });

  it.concurrent('gets a new machine if the first one is switched off while it boots', async () => {
    await stack.service.arm({ fault: 'never-boots', hostname: 'boot-app-1', count: 1 });
    const operation = await apply('boot');
    const machine = await until('the machine is created', async () => {
      const found = (await stack.service.machines()).find(({ hostname }) => hostname === 'boot-app-1');
      return found !== undefined && String(found['id']);
    });
    await stack.service.call('POST', `/v1/machines/${machine}/power`, { power: 'off' });
    await ledger.open('boot');
    const { operation: done, status } = await stack.client.waitFor('boot', operation);
    expect(done.state).toBe('done');
    expect(status.nodes).toMatchObject([{ incarnation: 2, state: 'ready' }]);
    await remove('boot');
  });

  it.concurrent('of an operation of a standalone machine is reported as lost with its machine', async () => {
    const ground = openGround(stack);
    await ground.add('off');
    await ground.operate('off', { kind: 'reserve', user: 'ada' });
    const machine = (await stack.service.machines()).find(({ hostname }) => hostname === 'machine-off');
    await stack.service.call('POST', `/v1/machines/${String(machine?.['id'])}/power`, { power: 'off' });
    const { operation } = await ground.operate('off', { kind: 'log in', user: 'ada' });
    expect(operation).toMatchObject({
      state: 'failed',
      failure: { kind: 'MachineLost', message: expect.stringContaining('reports that it is switched off') },
    });
  });
});
