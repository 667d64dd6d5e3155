import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { type Ended, runHeddle } from '../harness/cli/run-heddle.js';
import { startStack, type Stack, type WorkerProcess } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

interface Written {
  readonly providers: Readonly<Record<string, object>>;
}

describe('a heddle.yaml that changes while its worker runs', () => {
  let stack: Stack;
  let ledger: Ledger;
  let worker: WorkerProcess;
  let first: Written;
  beforeAll(async () => {
    stack = await startStack();
    ledger = openLedger(stack.folder);
    worker = await stack.startWorker();
    first = parse(await readFile(file(), 'utf8')) as Written;
    await writeFile(join(stack.folder, 'first.yaml'), stringify(first));
  });

  const file = (): string => join(stack.folder, 'worker.yaml');
  /** Replaces the file, and waits until the worker's log has a line about it. */
  const change = async (changed: object, says: string): Promise<void> => {
    const before = worker.output().length;
    await writeFile(`${file()}.new`, stringify(changed));
    await rename(`${file()}.new`, file());
    await until(`the worker says: ${says}`, () => worker.output().slice(before).includes(says), 60_000).catch(
      (cause: unknown) => {
        throw new Error(`it says:\n${worker.output().slice(before)}`, { cause });
      },
    );
  };
  const doctor = (): Promise<Ended> =>
    runHeddle(['doctor'], {
      distPath: inject('distPath'),
      env: {
        HEDDLE_CONFIG: join(stack.folder, 'first.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: stack.namespace,
      },
    });
  const apply = async (name: string, provider: string, more: object = {}): Promise<string> => {
    const spec = closed({ name, nodes: { app: nodes(1, [], { provider, ...more }) } });
    const { operation } = await stack.client.apply(spec);
    const { operation: ended } = await stack.client.waitFor(name, operation);
    return `${ended.state} ${ended.reason ?? ''}`;
  };

  it('is applied as a whole or not at all, and tasks that run keep what they began with', async () => {
    const start = ledger.script({ gate: 'end' });
    const running = await stack.client.apply(
      closed({ name: 'long', nodes: { app: nodes(1, ['web']) }, services: { web: { actions: { start } } } }),
    );
    await ledger.written('long app-1 web START begin');
    expect(await apply('early', 'second')).toContain('second');

    const { local = {} } = first.providers;
    const both = { ...first, providers: { local, second: local } };
    await change(both, 'is applied');
    expect(await apply('added', 'second')).toBe('done ');

    const half = { ...both, providers: { ...both.providers, third: local, wrong: { type: 'nonesuch' } } };
    await change(half, 'is not applied');
    expect(worker.output()).toMatch(/worker\.yaml:\d+.*provider plugin \\"nonesuch\\" is not installed/);
    expect(await apply('refused', 'third')).toContain('third');
    expect(await apply('kept', 'second')).toBe('done ');
    const refused = await until('doctor warns', async () => {
      const { stdout } = await doctor();
      return stdout.includes('is invalid or missing') ? stdout : undefined;
    });
    expect(refused).toMatch(new RegExp(`warn +changed settings +worker ${worker.pid}@`));

    const less = {
      ...first,
      providers: { local: { ...local, limits: { concurrency: 1 } } },
      stackTraces: true,
    };
    await change(less, 'need a restart of this worker: stackTraces');
    expect(await apply('limited', 'local')).toBe('done ');
    expect(await apply('removed', 'second')).toContain('second');
    await until('doctor names the setting', async () =>
      (await doctor()).stdout.includes('a restart is needed for changed settings: stackTraces'),
    );

    await ledger.open('end');
    expect((await stack.client.waitFor('long', running.operation)).operation.state).toBe('done');
    expect(await ledger.lines('long app-1 web START begin')).toHaveLength(1);
    await worker.stop();
    expect(worker.output()).toContain('worker has ended');
  });
});
