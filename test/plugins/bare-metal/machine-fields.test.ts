import { describe, expect, it } from 'vitest';
import { readMachines } from '../../../src/plugins/bare-metal/machine-fields.js';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined };
const machine = (name: string, mac?: string) => ({ name, address: '127.0.0.1', ...(mac && { mac }) });

describe('the machines of an account', () => {
  it('each machine has one address of an interface, or none', async () => {
    const fields = {
      machines: [machine('a', '52:54:00:00:00:01'), machine('b'), machine('c', '52-54-00-00-00-0A')],
      controllers: { a: {}, b: {}, c: {}, d: {} },
    };
    expect((await readMachines(fields, 'rack', log)).map(({ mac }) => mac)).toEqual([
      '52:54:00:00:00:01',
      undefined,
      '52:54:00:00:00:0a',
    ]);
    const doubled = { ...fields, machines: [...fields.machines, machine('d', '52:54:00:00:00:0a')] };
    await expect(readMachines(doubled, 'rack', log)).rejects.toThrow(
      'provider rack has the mac 52:54:00:00:00:0a for both c and d',
    );
  });
});
