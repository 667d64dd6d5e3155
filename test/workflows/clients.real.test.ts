import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { closed } from '../harness/workflows/spec.js';
import { writeProvider } from '../harness/workflows/toy-provider.js';

const toy = (ledger: string): string => `import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Provider, PluginError } from 'heddle/plugin';
const say = (words) => appendFileSync(${JSON.stringify(ledger)}, words + '\\n');
export class Toy extends Provider {
  static start({ name }) { say('start ' + name); return { name }; }
  static async stop({ name }) { await pause(300); say('stop ' + name); }
  async create({ key }) { say('call of ' + (await this.client()).name); return { result: { providerid: key } }; }
  async confirm() { throw new PluginError('NotReady', 'never', { retryAfterMs: 60_000 }); }
  async delete() {}
}
`;

describe('a plugin that keeps a client open', () => {
  let stack: Stack;
  let ledger: string;
  beforeAll(async () => {
    stack = await startStack({ accounts: { lines: { type: 'toy' } }, config: { plugins: ['./plugins'] } });
    ledger = join(stack.folder, 'ledger');
    await writeProvider(stack.folder, {
      name: 'toy',
      code: toy(ledger),
      class: 'Toy',
      description: 'Machines that are none',
      more: { limits: { processes: 1 } },
    });
  });

  const said = async (): Promise<readonly string[]> =>
    (await readFile(ledger, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');

  it('opens it for the first task, and drains it when the worker shuts down', async () => {
    const worker = await stack.startWorker('one');
    expect(await said()).toEqual([]);
    await stack.client.apply(
      closed({
        name: 'two-of-them',
        nodes: { app: { count: 2, provider: 'lines', hardware: 'small', image: 'host' } },
      }),
    );
    await until('both machines to be asked for', async () => (await said()).length >= 3);
    await worker.stop();
    expect(await said()).toEqual(['start lines', 'call of lines', 'call of lines', 'stop lines']);
  });
});
