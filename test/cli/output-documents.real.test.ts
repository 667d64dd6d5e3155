import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { documentSchemas } from '../../src/schema/output/documents.js';
import { seenDocuments } from '../harness/cli/output-documents.js';
import { heddleOn, runHeddle } from '../harness/cli/run-heddle.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { nodes } from '../harness/workflows/spec.js';

/** Documents that commands write in other tests, which check them likewise. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  'output-schemas.real.test.ts': [
    'history',
    'list',
    'nodes',
    'output',
    'plan',
    'status',
    'status-watch',
    'validate',
  ],
  'dev.real.test.ts': ['dev'],
  'run.real.test.ts': ['run'],
  'access.real.test.ts': ['reservation-log-in'],
  'one-writer.real.test.ts': ['machine-confirm-ended'],
  'plugin-setup.real.test.ts': ['plugin-setup'],
  'plugin-test.real.test.ts': ['plugin-test'],
  'fake-cloud.real.test.ts': ['plugin-cloud'],
  'images.real.test.ts': ['image-upload'],
  'recover.real.test.ts': ['recover'],
};

/** The harness checks all output with --json; here each command writes some. */
describe('every published document is what a command writes', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
  });

  const { run } = heddleOn(() => stack);
  const write = (name: string, content: object): string => {
    const file = join(stack.folder, name);
    writeFileSync(file, stringify(content));
    return file;
  };
  /** Its JSON document; the harness has checked it. */
  const json = async (...words: readonly string[]): Promise<Readonly<Record<string, unknown>>> => {
    const ended = await run(...words, '--json');
    expect(ended, words.join(' ')).toMatchObject({ code: 0 });
    return JSON.parse(ended.stdout) as Readonly<Record<string, unknown>>;
  };

  it('of a cluster and its tasks', async () => {
    const script = { type: 'shell', fields: { script: 'echo hello; echo value=1 > "$HEDDLE_RESULT"' } };
    const file = write('web.yaml', {
      name: 'web',
      nodes: { app: nodes(2, ['web']) },
      services: { web: { logs: { command: 'echo line' }, actions: { configure: script, start: script } } },
    });
    await json('apply', file);
    await json('exec', 'web', 'uptime');
    await json('task', 'show', 'web', 'app-1/web/CONFIGURE');
    expect(await run('logs', 'web', 'app-1', '--json')).toMatchObject({ code: 0 });
    const ofService = ['--source', 'service', '--service', 'web'];
    expect(await run('logs', 'web', ...ofService, '--json')).toMatchObject({ code: 0 });
    await json('cp', file, 'web:app-1:copied.yaml');
    await json('get', 'web');
    await json('diff', 'web', '1');
    await json('restart', 'web', 'web', '--plan');
    const slow = { type: 'shell', fields: { script: 'sleep 20' } };
    const slower = write('web.yaml', {
      name: 'web',
      nodes: { app: nodes(2, ['web']) },
      services: { web: { actions: { configure: slow, start: script } } },
    });
    await json('apply', slower, '--no-wait');
    await json('pause', 'web');
    await json('resume', 'web');
    await json('delete', 'web', '--yes');
  });

  it('of pools and requests', async () => {
    const offer = { hardware: 'tiny', image: 'host' };
    const file = write('pools.yaml', {
      pools: {
        ci: {
          labels: { small: { minReady: 1 } },
          providerPools: { main: { provider: 'local', limits: { nodes: 4 }, labels: { small: offer } } },
        },
      },
    });
    await json('pool', 'apply', file);
    await json('pool', 'list');
    await json('pool', 'labels', 'ci');
    await json('pool', 'failures', 'ci');
    const { id } = await json('request', 'create', 'ci', 'small');
    await json('request', 'show', 'ci', String(id), '--credentials');
    await json('request', 'renew', 'ci', String(id));
    await json('pool', 'labels', 'ci');
    const { nodes: held } = await json('pool', 'nodes', 'ci');
    const [node] = held as readonly { readonly id: string }[];
    await json('pool', 'hold', 'ci', node?.id ?? '', '-m', 'to look at it');
    await json('pool', 'nodes', 'ci');
    await json('pool', 'dump');
    await json('pool', 'hold', 'ci', node?.id ?? '', '--end');
    await json('request', 'return', 'ci', String(id));
    await json('request', 'create', 'ci', 'small', '--count', '2', '--no-wait', '--requester', 'job');
    await json('request', 'list', 'ci');
    await json('pool', 'waiting');
    await json('request', 'cancel', 'ci', '--requester', 'job');
    const exported = await json('pool', 'export', 'ci', '--yes');
    await json('pool', 'export', 'ci', '--cancel', '--yes');
    await json('pool', 'export', 'ci', '--yes');
    await stack.client.temporal.workflow.getHandle('pool/ci').terminate('as if in another namespace');
    const records = join(stack.folder, 'records.json');
    writeFileSync(records, JSON.stringify(exported));
    await json('pool', 'restore', records);
    await json('pool', 'delete', 'ci', '--yes');
    const machine = { name: 'lab-1', labels: ['small'], 'host-key': 'ssh-ed25519 AAAA' };
    const old = write('nodepool.yaml', {
      labels: [{ name: 'small', 'min-ready': 1 }],
      providers: [{ name: 'lab', driver: 'static', pools: [{ name: 'main', nodes: [machine] }] }],
    });
    await json('pool', 'import', old);
  });

  it('of machines and reservations', async () => {
    await json('machine', 'add', 'lab-1', '--provider', 'local');
    await json('machine', 'add', 'lab-2', '--provider', 'local', '--no-wait');
    await json('machine', 'power', 'lab-1', 'status');
    await json('machine', 'power', 'lab-1*', 'status');
    await json('machine', 'show', 'lab-1');
    await json('machine', 'list');
    await json('computers');
    expect((await run('machine', 'status', 'lab-1', '--json')).stdout).not.toBe('');
    const made = await json(
      'reservation',
      'create',
      'host',
      '--user',
      'ada',
      '--machine',
      'lab-1',
      '--for',
      '2h',
    );
    const { id } = made['reservation'] as { readonly id: string };
    await json('reservation', 'show', id);
    await json('reservation', 'list', '--all');
    await json('reservation', 'extend', id, '--by', '1h');
    expect((await run('reservation', 'cancel', id, '--json')).stdout).not.toBe('');
  });

  it('of images', async () => {
    const file = write('image.yaml', {
      name: 'base',
      recipe: { provider: 'local', hardware: 'tiny', image: 'host' },
      validate: false,
      rebuildAge: '1d',
    });
    await json('image', 'apply', file);
    await json('image', 'pause', 'base');
    await json('image', 'build', 'base', '--no-wait');
    await json('image', 'list');
    await json('image', 'show', 'base');
    expect((await run('image', 'show', 'base')).stdout).toContain('rebuilt after 1 d');
    await json('image', 'cancel', 'base');
    const exported = await json('image', 'export', 'base', '--yes');
    await json('image', 'export', 'base', '--cancel', '--yes');
    await json('image', 'export', 'base', '--yes');
    await stack.client.temporal.workflow.getHandle('image/base').terminate('as if in another namespace');
    const records = join(stack.folder, 'image.json');
    writeFileSync(records, JSON.stringify(exported));
    await json('image', 'restore', records);
    await json('image', 'delete', 'base', '--yes');
    await json('builder', 'stop');
  });

  it('of resources', async () => {
    const file = write('motd.txt', { hello: 'world' });
    await json('resource', 'put', 'motd', file);
    writeFileSync(file, 'again\n');
    await json('resource', 'put', 'motd', file);
    await json('resource', 'list');
    await json('resource', 'list', 'motd');
    await json('resource', 'set', 'motd', '2');
    await json('resource', 'get', 'motd', join(stack.folder, 'copy.txt'));
    await json('resource', 'rollback', 'motd');
    await json('resource', 'prune', '--older-than', '0', '--dry-run');
  });

  it('of plugins, accounts and keys', async () => {
    await json('plugins');
    await json('plugins', 'show', 'shell');
    await json('plugins', 'show', 'static', '--schema');
    const own = join(stack.folder, 'own');
    mkdirSync(own);
    const options = {
      distPath: inject('distPath'),
      cwd: own,
      env: { HEDDLE_DATA_FOLDER: join(own, 'data') },
    };
    const here = async (...words: readonly string[]): Promise<void> => {
      expect(await runHeddle([...words, '--json'], options), words.join(' ')).toMatchObject({ code: 0 });
    };
    await here('plugins', 'new', 'provider', 'mine');
    writeFileSync(join(own, 'heddle.yaml'), '');
    await here('provider', 'add', 'try', '--type', 'docker');
    await here('provider', 'list');
    await here('provider', 'remove', 'try', '--yes');
    await here('keys', 'create');
    await here('keys', 'list');
    await here('keys', 'rotate');
    await here('keys', 'export', join(own, 'ring'));
    await here('keys', 'import', join(own, 'ring'));
  });

  it('of the installation', async () => {
    await json('config', 'show');
    await json('provider', 'test', 'local');
    await json('server', 'setup');
    expect((await run('doctor', '--json')).stdout).not.toBe('');
    await json('explain', 'NoWorker');
    await json('leaks', '--sweep');
    await until('a workflow runs', async () => (await run('machine', 'list')).stdout.includes('lab-1'));
    await json('replay', '--all-running');
    expect(await run('list', '--nope', '--json')).toMatchObject({ code: 2 });
  });

  it('here or elsewhere', () => {
    const described = documentSchemas().map(([name]) => name as string);
    const missing = described.filter(
      (name) =>
        !Object.values(elsewhere).flat().includes(name) && ![...seenDocuments].some((one) => one === name),
    );
    expect(missing).toEqual([]);
  });
});
