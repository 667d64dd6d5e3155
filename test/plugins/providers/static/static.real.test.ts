import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ClusterSpec } from '../../../../src/model/cluster/spec.js';
import { parseSpec } from '../../../../src/schema/cluster/read.js';
import { formatProblem } from '../../../../src/schema/problem.js';
import { type Stack, startStack } from '../../../harness/stack.js';
import { until } from '../../../harness/until.js';

interface Described {
  readonly state: string;
  readonly address: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly hostKey: string;
}

/** A machine that somebody else made: the provider only hears of its address. */
async function makeMachine(stack: Stack, name: string): Promise<object> {
  const token = createHash('sha256').update(name).digest('hex');
  const { id } = (await stack.service.call('POST', '/v1/machines', {
    key: name,
    token,
    hostname: name,
    flavor: 'small',
    image: 'host',
  })) as { readonly id: string };
  const machine = await until(`machine ${name} runs`, async () => {
    const described = (await stack.service.call('GET', `/v1/machines/${id}`)) as Described;
    return described.state === 'running' && described;
  });
  const passwordFile = join(stack.folder, `${name}.password`);
  await writeFile(passwordFile, machine.password, { mode: 0o600 });
  const { address, port, user, hostKey } = machine;
  return { name, address, port, user, hostKey, password: { secret: `file:${passwordFile}` } };
}

/** Each node tells which clusters were on its machine before. */
function spec(name: string): ClusterSpec {
  const script = `echo ${name} >>"$HOME/guests"; echo "guests=$(tr '\\n' ' ' <"$HOME/guests")" >>"$HEDDLE_RESULT"`;
  const parsed = parseSpec({
    name,
    nodes: { app: { count: 1, provider: 'rack', services: ['app'] } },
    services: { app: { actions: { install: { type: 'shell', fields: { script } } } } },
  });
  if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join('\n'));
  return parsed.spec;
}

describe('a cluster on existing machines', () => {
  let stack: Stack;
  const ledger = (): string => join(stack.folder, 'released');
  beforeAll(async () => {
    // The worker reads its configuration when it starts: by then the machines are known.
    const providers: Record<string, object> = {};
    stack = await startStack({ config: { providers } });
    providers['rack'] = {
      type: 'static',
      fields: {
        machines: [await makeMachine(stack, 'one'), await makeMachine(stack, 'two')],
        programs: {
          deleted: ['sh', '-c', `echo "$1 was released" >>'${ledger()}'; exit 3`, 'sh', '{machine}'],
        },
      },
    };
    await stack.startWorker();
  });

  const apply = async (name: string): Promise<{ readonly machine: unknown; readonly guests: unknown }> => {
    const { operation } = await stack.client.apply(spec(name));
    expect((await stack.client.waitFor(name, operation)).operation).toMatchObject({ state: 'done' });
    const payload = await stack.client.payload(name, 'app-1');
    return { machine: payload['providerid'], guests: payload['guests'] };
  };
  const remove = async (name: string): Promise<void> => {
    const { operation = '' } = await stack.client.delete(name);
    expect((await stack.client.waitFor(name, operation)).operation.state).toBe('done');
  };

  test('uses them exclusively, and returns them unchanged', async () => {
    expect(await apply('first')).toEqual({ machine: 'one', guests: 'first ' });
    expect(await apply('second')).toEqual({ machine: 'two', guests: 'second ' });
    await remove('first');
    expect(await apply('third')).toEqual({ machine: 'one', guests: 'first third ' });
    await Promise.all([remove('second'), remove('third')]);
    // Programs for notifications fail without consequences.
    expect((await readFile(ledger(), 'utf8')).trim().split('\n').toSorted()).toEqual([
      'one was released',
      'one was released',
      'two was released',
    ]);
    expect(await stack.service.machines()).toHaveLength(2);
    expect(await stack.service.journal('delete')).toEqual([]);
  });

  test('is held if all are taken, and continues when one is free', async () => {
    await apply('fourth');
    await apply('fifth');
    const { operation } = await stack.client.apply(spec('sixth'));
    const held = await stack.client.waitFor('sixth', operation);
    expect(held.operation.state).toBe('held');
    expect(held.status.nodes[0]?.failure).toMatchObject({ kind: 'Quota' });
    await remove('fourth');
    const retried = await stack.client.retry('sixth');
    expect((await stack.client.waitFor('sixth', retried.operation)).operation.state).toBe('done');
    await Promise.all([remove('fifth'), remove('sixth')]);
  });
});
