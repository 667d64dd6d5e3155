import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { locksOf } from '../../src/worker/account-workflows.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { closed } from '../harness/workflows/spec.js';
import { writeProvider } from '../harness/workflows/toy-provider.js';

/** Each call says when it begins and when it ends. */
const toy = `import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
export class Toy {
  constructor({ task, fields }) { this.task = task; this.fields = fields; }
  async #call(name) {
    const say = (what) => appendFileSync(this.fields.ledger, what + ' ' + name + ' ' + this.task.nodeId + '\\n');
    say('begin');
    await pause(40);
    say('end');
  }
  async create({ key }) { await this.#call('create'); return { result: { providerid: key } }; }
  async confirm() { await this.#call('confirm'); const error = new Error('not yet'); throw Object.assign(error, { name: 'PluginError', kind: 'NotReady', retryAfterMs: 200 }); }
  async delete() { await this.#call('delete'); }
  async find() { await this.#call('find'); return []; }
  async nodeDeleted() { await this.#call('nodeDeleted'); throw new Error('heard, and fell over'); }
}
`;

describe('an account that permits one call at a time', () => {
  let stack: Stack;
  let ledger: string;
  beforeAll(async () => {
    stack = await startStack({ accounts: { toy: { type: 'toy' } }, config: { plugins: ['./plugins'] } });
    ledger = join(stack.folder, 'ledger');
    await writeProvider(stack.folder, {
      name: 'toy',
      code: toy,
      class: 'Toy',
      description: 'Machines that are none',
      more: {
        serial: true,
        fields: { admin: { ledger: { title: 'Ledger', type: 'string', default: ledger } } },
      },
    });
    await stack.startWorker('one');
  });

  const lines = async (): Promise<readonly string[]> =>
    (await readFile(ledger, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
  const specOf = (name: string, count: number): ReturnType<typeof closed> =>
    closed({ name, nodes: { app: { count, provider: 'toy', hardware: 'small', image: 'host' } } });

  it('is called by one worker at a time, also for notifications of deletions', async () => {
    const { client } = stack;
    await stack.startWorker('two');
    await client.apply(specOf('many', 4));
    await until(
      'all were created and looked for',
      async () => (await lines()).filter((line) => line.startsWith('end confirm')).length >= 4,
    );
    const { operation = '' } = await client.delete('many');
    expect((await client.waitFor('many', operation)).operation.state).toBe('done');
    const said = await lines();
    for (const [index, line] of said.entries())
      expect(line.startsWith(index % 2 === 0 ? 'begin' : 'end')).toBe(true);
    for (let index = 0; index + 1 < said.length; index += 2)
      expect(said[index + 1]).toBe(said[index]?.replace('begin', 'end'));
    expect(new Set(said.filter((line) => line.startsWith('end nodeDeleted'))).size).toBe(4);
  });

  it('passes to the next holder when it is released or not renewed; an expired lock cannot be renewed while another has it', async () => {
    const batchSlots = locksOf(stack.client.temporal, 'other');
    const take = (holder: string, waitMs = 0, leaseMs = 60_000): Promise<boolean> =>
      batchSlots.take({ holder, leaseMs, waitMs });
    expect(await take('a')).toBe(true);
    expect(await take('a')).toBe(true);
    expect(await take('b', 100)).toBe(false);
    const [next] = await Promise.all([take('b', 20_000), batchSlots.release('a')]);
    expect(next).toBe(true);
    expect(await take('a')).toBe(false);
    await batchSlots.release('a');
    expect(await take('c', 100)).toBe(false);
    await batchSlots.release('b');
    expect(await take('dead', 0, 300)).toBe(true);
    expect(await take('c', 20_000)).toBe(true);
    expect(await take('dead')).toBe(false);
  });
});
