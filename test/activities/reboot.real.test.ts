import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestService } from '../harness/local/service.js';
import { type MachineBench, openMachineBench } from '../harness/activities/machines.js';

const root = process.platform === 'linux' && process.getuid?.() === 0;

describe.each(['directory', 'sandbox'] as const)('a probe of machines of kind %s', (kind) => {
  const isPossible = kind === 'directory' || root;
  let service: TestService;
  let bench: MachineBench;
  beforeAll(async () => {
    if (!isPossible) return;
    service = await TestService.start(['--kind', kind]);
    bench = await openMachineBench(service);
  });
  afterAll(() => bench?.close());

  test.runIf(isPossible)('reports the restarted ones, after a power cut too', async () => {
    // One after the other: the kernel tells when a process was started to the hundredth of a second.
    const stays = await bench.up('stays');
    const reboots = await bench.up('reboots');
    expect(stays.config['boot-id']).not.toBe(reboots.config['boot-id']);
    expect(await bench.survey([stays, reboots])).toEqual({ observations: [], unknown: [] });
    const id = reboots.config['providerid'] as string;
    await service.call('POST', `/v1/machines/${id}/power`, { power: 'off' });
    await service.call('POST', `/v1/machines/${id}/power`, { power: 'on' });
    await service.waitForState(id, 'running');
    expect((await bench.survey([stays, reboots])).observations).toMatchObject([
      { nodeId: 'reboots', seen: 'rebooted' },
    ]);
    await service.end('SIGKILL');
    await service.restart();
    const after = await openMachineBench(service);
    try {
      for (const node of [stays, reboots])
        await service.waitForState(node.config['providerid'] as string, 'running');
      expect((await after.survey([stays, reboots])).observations).toMatchObject([
        { seen: 'rebooted' },
        { seen: 'rebooted' },
      ]);
    } finally {
      await after.close();
    }
  });
});
