import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startMachineService, type MachineService } from '../../../../src/testing/index.js';
import { openProxy, type ApiProxy } from '../../../../src/testing/proxy.js';
import { runHeddle, startHeddle } from '../../../harness/cli/run-heddle.js';
import { until } from '../../../harness/until.js';
import { newFolder } from '../../../harness/folder.js';

let folder: string;
let service: MachineService;
let proxy: ApiProxy;
beforeAll(async () => {
  folder = newFolder();
  service = await startMachineService();
  proxy = await openProxy(service.endpoint);
});
afterAll(async () => {
  await proxy.close();
  await service.close();
});

interface Things {
  readonly volumes: number;
  readonly addresses: number;
  readonly machines: number;
}

async function things(): Promise<Things> {
  const count = async (kind: string): Promise<number> =>
    ((await service.call('GET', `/v1/${kind}`)) as Readonly<Record<string, readonly unknown[]>>)[kind]
      ?.length ?? 0;
  return {
    volumes: await count('volumes'),
    addresses: await count('addresses'),
    machines: (await service.machines()).filter(({ state }) => state !== 'deleting').length,
  };
}

function taskFile(taskName: string, incarnation: number): string {
  const file = join(folder, `${taskName}.json`);
  const provider = { fields: { endpoint: proxy.endpoint, apiKey: service.apiKey } };
  writeFileSync(
    file,
    JSON.stringify({ taskName, incarnation, config: { flavor: 'tiny', image: 'host' }, provider }),
  );
  return file;
}

const words = (taskName: string, incarnation: number): readonly string[] => [
  'plugins',
  'run',
  'example',
  taskFile(taskName, incarnation),
];
const options = () => ({ distPath: inject('distPath'), cwd: folder });

/**
 * Kills the process that carries out the task while its n-th call waits for an answer; false when there was
 * no n-th call.
 */
async function killAt(number: number, taskName: string, incarnation: number): Promise<boolean> {
  let met = false;
  proxy.set((call) => {
    met ||= call.number === number;
    return call.number === number ? { kind: 'hold' } : undefined;
  });
  const running = startHeddle(words(taskName, incarnation), options());
  let over = false;
  void running.ended.finally(() => {
    over = true;
  });
  await until('the call that hangs', () => met || over);
  running.child.kill('SIGKILL');
  await running.ended;
  proxy.clear();
  return met;
}

const gone = (incarnation: number): Promise<true> =>
  until(
    'it is gone',
    async () => (await runHeddle(words('DELETE', incarnation), options())).code === 0 && true,
  );

test('CREATE that is killed at each of its steps continues there: one of each resource, and DELETE leaves none', async () => {
  for (let number = 1, met = true; met; number += 1) {
    met = await killAt(number, 'CREATE', number);
    const { code, stdout } = await runHeddle(words('CREATE', number), options());
    expect([code, stdout]).toEqual([0, expect.stringContaining('"providerid"')]);
    expect(await things()).toEqual({ volumes: 1, addresses: 1, machines: 1 });
    await gone(number);
    expect(await things()).toEqual({ volumes: 0, addresses: 0, machines: 0 });
    if (!met) expect(number).toBeGreaterThan(5);
  }
});

test('DELETE by the key alone leaves nothing after CREATE was killed at each of its steps', async () => {
  for (let number = 101, met = true; met; number += 1) {
    met = await killAt(number - 100, 'CREATE', number);
    await gone(number);
    expect(await things()).toEqual({ volumes: 0, addresses: 0, machines: 0 });
  }
});

test('DELETE that is killed at each of its steps is completed by the next', async () => {
  for (let number = 201, met = true; met; number += 1) {
    expect((await runHeddle(words('CREATE', number), options())).code).toBe(0);
    met = await killAt(number - 200, 'DELETE', number);
    await gone(number);
    expect(await things()).toEqual({ volumes: 0, addresses: 0, machines: 0 });
  }
});
