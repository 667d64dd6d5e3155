import { beforeAll, describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { writeGatedAutomator } from '../harness/workflows/gated-automator.js';
import { type Ledger, onceEach, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

// A cluster for each action, all stopped in the middle of it when the one worker dies. What a test then sees
// of its cluster is what one kill for each would show, in a tenth of the time.
const up = ['INSTALL', 'CONFIGURE', 'INITIALIZE', 'START'] as const;
const down = ['STOP', 'REMOVE'] as const;
const killedIn = ['CREATE', 'CONFIRM', 'BOOTSTRAP', ...up, ...down, 'DELETE'] as const;
type Action = (typeof killedIn)[number];

const nameOf = (action: Action): string => `crash-${action.toLowerCase()}`;
const isDown = (action: Action): boolean => action === 'STOP' || action === 'REMOVE' || action === 'DELETE';

describe('a worker killed during an action, and another one with its own home and data that takes over', () => {
  let folder: string;
  let stack: Stack;
  let ledger: Ledger;
  /** The operation that the kill met, by cluster. */
  const operations: Record<string, string> = {};
  const faults: string[] = [];

  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
    const say = (what: string): string =>
      `echo "crash-bootstrap app-1 app BOOTSTRAP ${what}" >>"${folder}/ledger"`;
    await writeGatedAutomator(
      folder,
      `${say('begin')}; while [ ! -e "${folder}/gate-crash" ]; do sleep 0.05; done; ${say('end')}`,
    );
    stack = await startStack({ config: { plugins: [folder] } });
    const first = await stack.startWorker('first');
    await Promise.all(killedIn.filter(isDown).map(createWhole));
    await Promise.all(
      killedIn
        .filter((action) => action !== 'CREATE' && action !== 'CONFIRM' && action !== 'DELETE')
        .map(pauseInScript),
    );
    await pauseInCall('CREATE', 'create');
    await pauseInCall('CONFIRM', 'describe');
    await pauseInCall('DELETE', 'delete');
    await first.kill();
    await stack.startWorker('second');
    await ledger.open('crash');
  });

  function specFor(action: Action): ClusterSpec {
    const name = nameOf(action);
    const entries = [...up, ...down].map((each) => [
      each.toLowerCase(),
      ledger.script(each === action ? { gate: 'crash' } : {}),
    ]);
    // Who uses the gated automator is prepared by it.
    const prepared = { prepared: { peers: 'none', actions: { install: { type: 'gated' } } } };
    return closed({
      name,
      nodes: { app: nodes(1, action === 'BOOTSTRAP' ? ['app', 'prepared'] : ['app']) },
      services: {
        app: { actions: Object.fromEntries(entries) },
        ...(action === 'BOOTSTRAP' ? prepared : {}),
      },
    });
  }

  async function createWhole(action: Action): Promise<void> {
    const { operation } = await stack.client.apply(specFor(action));
    await stack.client.waitFor(nameOf(action), operation, { everyMs: 100 });
  }

  async function begin(action: Action): Promise<void> {
    const { operation = '' } = isDown(action)
      ? await stack.client.delete(nameOf(action))
      : await stack.client.apply(specFor(action));
    operations[nameOf(action)] = operation;
  }

  async function pauseInScript(action: Action): Promise<void> {
    await begin(action);
    await ledger.written(`${nameOf(action)} app-1 app ${action} begin`);
  }

  /** The machine service has accepted the call, and the answer is still out. */
  async function pauseInCall(action: Action, operation: string): Promise<void> {
    const fault = await stack.service.arm({
      fault: 'hold-answer',
      operation,
      hostname: `${nameOf(action)}-app-1`,
    });
    faults.push(fault);
    await begin(action);
    await until(`${action} accepted`, async () => (await stack.service.held(fault)) === 1);
  }

  async function machinesOf(action: Action): Promise<readonly unknown[]> {
    return (await stack.service.machines())
      .filter(({ hostname }) => hostname === `${nameOf(action)}-app-1`)
      .map(({ id }) => id);
  }

  it.concurrent.each(killedIn)('continues %s', async (action) => {
    const { client, service } = stack;
    const name = nameOf(action);
    const { operation, status } = await client.waitFor(name, operations[name] ?? '', { everyMs: 100 });
    expect(operation).toMatchObject({ state: 'done', tasks: { failed: 0 } });
    expect(operation.tasks.done).toBe(operation.tasks.total);
    expect(await machinesOf(action)).toEqual(status.nodes.map(({ providerid }) => providerid));
    expect(status.nodes).toHaveLength(isDown(action) ? 0 : 1);
    if (!isDown(action)) {
      const { operation: deletion = '' } = await client.delete(name);
      expect((await client.waitFor(name, deletion, { everyMs: 100 })).operation.state).toBe('done');
      expect(await machinesOf(action)).toEqual([]);
    }
    const bootstrap = action === 'BOOTSTRAP' ? ['BOOTSTRAP'] : [];
    expect(await ledger.lines(`${name} `)).toEqual(
      onceEach(`${name} app-1 app`, [...bootstrap, ...up, ...down]),
    );
    const created = (await service.journal('create')).filter(({ hostname }) => hostname === `${name}-app-1`);
    expect(created.filter(({ repeated }) => repeated !== true)).toHaveLength(1);
    expect(created).toHaveLength(action === 'CREATE' ? 2 : 1);
  });
});
