import { expect, it } from 'vitest';
import { startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

interface Line {
  readonly level: string;
  readonly bucket?: string;
  readonly msg: string;
  readonly task?: string;
  readonly workflow?: string;
  readonly stack?: string;
  readonly step?: string;
  readonly ageMs?: number;
  readonly lastHeartbeatMs?: number;
}

it('SIGUSR2 to a worker logs its tasks, and it continues to work', async () => {
  const stack = await startStack({ config: { stackTraces: true } });
  try {
    const worker = await stack.startWorker();
    const ledger = openLedger(stack.folder);
    const script = ledger.script({ gate: 'dump' });
    const { operation } = await stack.client.apply(
      closed({
        name: 'dumped',
        nodes: { app: nodes(1, ['app']) },
        services: { app: { actions: { start: script } } },
      }),
    );
    await ledger.written('dumped app-1 app START begin');
    // The list of open workflows lags behind.
    await until('the cluster is listed', async () => (await stack.client.list()).length === 1);

    const lines = (): readonly Line[] =>
      worker
        .output()
        .split('\n')
        .filter((line) => line.includes('heddle.stack_dump'))
        .map((line) => JSON.parse(line) as Line);
    process.kill(worker.pid, 'SIGUSR2');
    const workflow = await until('the dump', () => lines().find((line) => line.workflow !== undefined));
    expect(lines().every(({ level, bucket }) => level === 'info' && bucket === 'heddle.stack_dump')).toBe(
      true,
    );
    expect(lines()[0]?.msg).toBe('1 tasks in flight');
    const task = lines().find((line) => line.task !== undefined);
    expect(task).toMatchObject({ msg: 'START app on app-1', attempt: 1, step: 'START by shell' });
    expect(task?.task).toMatch(/\/app-1#1\/app\/START\/[0-9a-f]{12}$/);
    expect(task?.ageMs).toBeGreaterThan(0);
    expect(task?.lastHeartbeatMs).toBeLessThan(5_000);
    expect(task?.stack).toMatch(/START by shell\n\s+at .*runServiceAction/s);
    expect(workflow.workflow).toBe('cluster/dumped');
    expect(workflow.stack).toMatch(/runStep|runTask|scheduleActivity/);

    await ledger.open('dump');
    expect((await stack.client.waitFor('dumped', operation, { everyMs: 100 })).operation.state).toBe('done');
    const { operation: deletion = '' } = await stack.client.delete('dumped');
    await stack.client.waitFor('dumped', deletion, { everyMs: 100 });
  } finally {
    await stack.stop();
  }
});
