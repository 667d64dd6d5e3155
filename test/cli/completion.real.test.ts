import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runHeddle } from '../harness/cli/run-heddle.js';
import { hasShell, openShell, shellNames, type ShellTerminal } from '../harness/cli/shell-terminal.js';
import { hasTerminal } from '../harness/cli/terminal.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { closed, nodes } from '../harness/workflows/spec.js';

describe('completion in a shell', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
    const spec = {
      name: 'shop',
      nodes: { app: nodes(2, ['cache']), db: nodes(1, []) },
      services: { cache: {} },
      outputs: { url: 'http://shop', user: 'ada' },
    };
    const { operation } = await stack.client.apply(closed(spec));
    await stack.client.waitFor('shop', operation);
    await stack.client.apply(closed({ name: 'spare', nodes: { app: nodes(1, []) } }));
    await until('both are listed', async () => (await stack.client.list()).length === 2);
  });

  const settings = () => ({
    HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: stack.namespace,
  });

  it('has the names of clusters, nodes and resources', async () => {
    const ask = async (...words: readonly string[]): Promise<string> =>
      (await runHeddle(['__complete', '--', ...words], { distPath: inject('distPath'), env: settings() }))
        .stdout;
    expect(await ask('status', 'sh')).toBe('shop\n');
    expect(await ask('replace', 'shop', '')).toBe('app-1\napp-2\ndb-1\n');
    expect(await ask('restart', 'shop', '--nodes=app-1,')).toBe(
      '--nodes=app-1,app-1\n--nodes=app-1,app-2\n--nodes=app-1,db-1\n',
    );
    expect(await ask('apply', '')).toBe(':files\n');
    expect(await ask('output', 'shop', '')).toBe('url\nuser\n');
    await stack.client.resources.put('scripts', { format: 'file', bytes: Buffer.from('true') });
    expect(await ask('resource', 'set', '')).toBe('scripts\n');
  });

  it('has the provider accounts of heddle.yaml without a server', async () => {
    const env = { ...settings(), TEMPORAL_ADDRESS: '127.0.0.1:1' };
    expect(
      await runHeddle(['__complete', '--', 'pool', 'erase', ''], { distPath: inject('distPath'), env }),
    ).toEqual({ code: 0, stdout: 'local\n', stderr: '' });
  });

  it('prints nothing, and no error, without a server', async () => {
    const env = { ...settings(), TEMPORAL_ADDRESS: '127.0.0.1:1' };
    expect(
      await runHeddle(['__complete', '--', 'status', ''], { distPath: inject('distPath'), env }),
    ).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  describe.each(shellNames)('works in %s', (name) => {
    let shell: ShellTerminal | undefined;
    beforeAll(async () => {
      if (hasTerminal && hasShell(name)) shell = await openShell(name, settings());
    });
    afterAll(() => shell?.close());

    it.for([
      ['heddle rest', 'restart'],
      ['heddle status sh', 'status shop'],
      ['heddle --json status sh', '--json status shop'],
      ['heddle replace shop d', 'replace shop db-1'],
      ['heddle replace shop db-1 app-2', 'replace shop db-1 app-2'],
      ['heddle restart shop ca', 'restart shop cache'],
      ['heddle restart shop --nodes d', 'restart shop --nodes db-1'],
      ['heddle restart shop --nodes=d', 'restart shop --nodes=db-1'],
      ['heddle restart shop --nodes=db-1,app-2', 'restart shop --nodes=db-1,app-2'],
      ['heddle output shop ur', 'output shop url'],
      ['heddle logs shop --action INS', 'logs shop --action INSTALL'],
      ['heddle apply cluster.yaml --var si', 'apply cluster.yaml --var size='],
      ['heddle apply cluster.yaml --var mode=f', 'apply cluster.yaml --var mode=fast'],
      ['heddle apply cluster.yaml --var ho', 'apply cluster.yaml --var hostile='],
      ['heddle apply ~/cluster.yaml --var si', /apply .*\/cluster\.yaml --var size=$/],
      ['heddle provider add cloud --type op', 'provider add cloud --type openstack'],
      ['heddle config sh', 'config show'],
      ['heddle plan --det', 'plan --detailed-exitcode'],
      ['heddle logs shop --level wa', 'logs shop --level warn'],
      ['heddle apply clu', 'apply cluster.yaml'],
      ['heddle apply --config clu', 'apply --config cluster.yaml'],
    ] as const)('on: %s', async ([typed, executed], { skip }) => {
      if (shell === undefined) return skip(`it needs ${name} and script, of util-linux`);
      const wanted = typeof executed === 'string' ? executed : expect.stringMatching(executed);
      expect((await shell.complete(typed)).trim()).toEqual(wanted);
    });

    it('and shows what there is', async ({ skip }) => {
      if (shell === undefined) return skip(`it needs ${name} and script, of util-linux`);
      await shell.offered('heddle sta', 'start', 'status');
      await shell.offered('heddle nodes s', 'shop', 'spare');
      await shell.offered('heddle replace shop app-', 'app-1', 'app-2');
    });
  });
});
