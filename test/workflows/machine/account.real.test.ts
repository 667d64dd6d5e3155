import { beforeAll, describe, expect, it } from 'vitest';
import { type Ground, host, openGround } from '../../harness/machine/ground.js';
import { type Stack, startStack } from '../../harness/stack.js';
import { until } from '../../harness/until.js';

describe('the settings of an account that changed after a machine was registered', () => {
  let stack: Stack;
  let ground: Ground;
  const config: { site?: string; loadsAtOnce?: number } = { loadsAtOnce: 1 };
  const accounts: Record<string, object | 'service'> = {};

  beforeAll(async () => {
    stack = await startStack({ accounts, config });
    accounts['lab'] = accountAt('default');
    ground = openGround(stack);
  });

  function accountAt(site: string): object {
    const { endpoint, apiKeyFile } = stack.service;
    return { type: 'local', site, fields: { endpoint, apiKey: { secret: `file:${apiKeyFile}` } } };
  }

  it('apply to its next operation: another site, and more loads at once', async () => {
    const first = await stack.startWorker('first');
    await Promise.all(['one', 'two'].map((name) => ground.add(name, { provider: 'lab' })));
    await first.stop();
    config.site = 'north';
    config.loadsAtOnce = 2;
    accounts['lab'] = accountAt('north');
    await stack.startWorker('second');
    expect((await ground.operate('one', { kind: 'power', verb: 'status' })).operation.result?.power).toEqual({
      power: 'on',
    });
    expect((await stack.client.machines.show('one')).site).toBe('north');

    const holds = await Promise.all(
      ['one', 'two'].map((name) =>
        stack.service.arm({ fault: 'hold-answer', operation: 'load', hostname: `machine-${name}` }),
      ),
    );
    const loads = await Promise.all(
      ['one', 'two'].map((name) => ground.begin(name, { kind: 'load', image: host })),
    );
    await until(
      'both are loaded at once',
      async () =>
        (await Promise.all(holds.map((hold) => stack.service.held(hold)))).every((held) => held === 1),
      60_000,
    );
    await Promise.all(holds.map((hold) => stack.service.release(hold)));
    for (const [index, name] of ['one', 'two'].entries())
      expect((await ground.end(name, loads[index] ?? '')).machine).toMatchObject({ image: host });
  });
});
