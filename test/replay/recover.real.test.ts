import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Ended, runHeddle } from '../harness/cli/run-heddle.js';
import { type BuildCopy, buildWith } from '../harness/replay/build-copy.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ledger, onceEach, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

describe('a cluster that another build has continued in its own way', () => {
  let stack: Stack;
  let ledger: Ledger;
  let bad: BuildCopy;
  beforeAll(async () => {
    bad = await buildWith(inject('distPath'), `if (args[0] === 'START') await sleep(1);`);
    stack = await startStack({
      config: { scale: { inlineNodes: 1, groupNodes: 1 }, sweep: { every: '1h' } },
    });
    ledger = openLedger(stack.folder);
  });
  afterAll(async () => {
    await stack.stop();
    await bad.remove();
  });

  const heddle = (...words: readonly string[]): Promise<Ended> =>
    runHeddle(words, {
      distPath: inject('distPath'),
      env: {
        HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });
  const finding = async (check: string): Promise<unknown> => {
    const { stdout } = await heddle('doctor', '--json');
    const { checks } = JSON.parse(stdout) as { readonly checks: readonly { readonly check: string }[] };
    return checks.find((one) => one.check === check);
  };

  it('is named by doctor, list, status and errors, and recovered with nothing lost or repeated', async () => {
    const { client, service } = stack;
    const good = await stack.startWorker();
    const { operation } = await client.apply(
      closed({
        name: 'web',
        nodes: { app: nodes(2, ['app']) },
        services: {
          app: {
            actions: {
              install: ledger.script(),
              configure: ledger.script({ gate: 'configure' }),
              start: ledger.script({ gate: 'start' }),
            },
          },
        },
      }),
    );
    await ledger.written('web app-1 app CONFIGURE begin');
    await ledger.written('web app-2 app CONFIGURE begin');
    await good.kill();
    const other = await stack.startWorker('other', bad.distPath);
    await ledger.open('configure');
    await ledger.written('web app-1 app START begin');
    await ledger.written('web app-2 app START begin');
    await other.kill();
    await stack.startWorker();
    await ledger.open('start');

    await until('the server reports both workflows', async () => {
      const found = JSON.stringify(await finding('workflows'));
      return found.includes('workflow cluster/web:') && found.includes('workflow cluster/web/group/1:');
    });
    expect(await finding('workflows')).toMatchObject({
      state: 'fail',
      text: expect.stringContaining('TMPRL1100'),
      next: expect.stringContaining('heddle recover web'),
    });
    const listed = await heddle('list');
    expect(listed.stdout).toMatch(/web +\w+, stuck/);
    expect(listed.stdout).toContain('heddle recover web');
    expect(await heddle('status', 'web')).toMatchObject({
      stdout: expect.stringContaining('stuck: cluster/web cannot continue'),
      stderr: expect.stringContaining('heddle recover web'),
    });
    for (const words of [
      ['cancel', 'web'],
      ['retry', 'web'],
    ])
      expect(await heddle(...words)).toMatchObject({
        code: expect.any(Number),
        stderr: expect.stringMatching(/no worker can continue workflow cluster\/web: .*TMPRL1100/),
      });
    const sweep = await client.sweep();
    expect(sweep).toMatchObject({ refused: [], silent: [expect.stringContaining('cluster web')] });

    const recovered = await heddle('recover', 'web', '--json');
    expect(JSON.parse(recovered.stdout)).toMatchObject({
      left: [],
      recovered: [{ workflowId: 'cluster/web' }, { workflowId: 'cluster/web/group/1' }],
    });
    const end = await client.waitFor('web', operation, { everyMs: 100 });
    expect(end.operation).toMatchObject({ state: 'done', tasks: { failed: 0 } });
    const wanted = ['app-1', 'app-2'].flatMap((node) =>
      onceEach(`web ${node} app`, ['INSTALL', 'CONFIGURE', 'START']),
    );
    expect((await ledger.lines('web ')).toSorted()).toEqual(wanted.toSorted());
    expect(await service.journal('create')).toHaveLength(2);
    expect(await heddle('recover', 'web')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('web is not stuck'),
    });
    await until('the server reports no workflow', async () =>
      JSON.stringify(await finding('workflows')).includes('"ok"'),
    );
    const { operation: deletion = '' } = await client.delete('web');
    expect((await client.waitFor('web', deletion, { everyMs: 100 })).operation.state).toBe('done');
    expect(await service.machines()).toEqual([]);
  });
});
