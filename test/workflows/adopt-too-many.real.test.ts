import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { startStack, type Stack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { writeProvider } from '../harness/workflows/toy-provider.js';

/**
 * It lists 10,000 machines of an earlier cluster, as after a restore of a backup, and writes
 * down what else is called.
 */
const crowd = `import { appendFileSync } from 'node:fs';
export class Crowd {
  constructor({ fields }) { this.fields = fields; }
  #note(name) { appendFileSync(this.fields.ledger, name + '\\n'); throw new Error('not to be called'); }
  async create() { this.#note('create'); }
  async confirm() { this.#note('confirm'); }
  async delete() { this.#note('delete'); }
  async list(tags) {
    appendFileSync(this.fields.ledger, 'list\\n');
    return Array.from({ length: 10000 }, (_, index) => {
      const key = '0b5c4d9e-8f4e-4c4f-9a35-0c1d2e3f4a5b/app-' + (index + 1) + '/' + (index + 1);
      return {
        providerid: 'i-' + String(index).padStart(17, '0'),
        key,
        tags: { ...tags, 'heddle-key': key, 'heddle-cluster': 'crowd', 'heddle-placement': '0123456789abcdef' },
        state: 'running',
        createdAt: '2026-11-27T12:00:00.000Z',
      };
    });
  }
}
`;

let stack: Stack;
let ledger: string;
beforeAll(async () => {
  stack = await startStack({ accounts: { crowd: { type: 'crowd' } }, config: { plugins: ['./plugins'] } });
  ledger = join(stack.folder, 'ledger');
  await writeProvider(stack.folder, {
    name: 'crowd',
    code: crowd,
    class: 'Crowd',
    description: 'More machines than fit into a message',
    more: {
      consistencyWindowMs: 0,
      fields: { admin: { ledger: { title: 'Ledger', type: 'string', default: ledger } } },
    },
  });
  await stack.startWorker();
});

it('a cluster is refused before anything is done if more machines of its name exist than fit into a message', async () => {
  const spec = closed({
    name: 'crowd',
    nodes: { app: nodes(2, ['web'], { provider: 'crowd' }) },
    services: { web: { actions: { install: { type: 'shell', fields: { script: 'true' } } } } },
  });
  const { operation } = await stack.client.apply(spec);
  const { operation: ended } = await stack.client.waitFor('crowd', operation);
  expect(ended).toMatchObject({
    state: 'rejected',
    reason: expect.stringMatching(
      /^account crowd has 10000 machines of earlier runs of cluster crowd, and their list has \d+ bytes, more than the limit of \d+, .*heddle leaks/,
    ) as string,
  });
  expect(new Set((await readFile(ledger, 'utf8')).trim().split('\n'))).toEqual(new Set(['list']));
});
