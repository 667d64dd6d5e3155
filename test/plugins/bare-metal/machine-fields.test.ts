import { describe, expect, it } from 'vitest';
import { fieldsOf } from '../../harness/plugins/fields.js';
import type { RealMachineFields } from '../../../src/plugins/bare-metal/field-types.js';
import { ipmiSchema } from '../../../src/plugins/bare-metal/ipmitool.js';
import { accountFaults, readMachines } from '../../../src/plugins/bare-metal/machine-fields.js';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined };
const machine = (name: string, mac?: string) => ({ name, address: '127.0.0.1', ...(mac && { mac }) });

describe('the machines of an account', () => {
  it('each machine has one address of an interface, or none', async () => {
    const fields = fieldsOf<RealMachineFields>('ipmi', {
      machines: [machine('a', '52:54:00:00:00:01'), machine('b'), machine('c', '52-54-00-00-00-0A')],
      controllers: { a: {}, b: {}, c: {}, d: {} },
    });
    expect((await readMachines(fields, 'rack', log)).map(({ mac }) => mac)).toEqual([
      '52:54:00:00:00:01',
      undefined,
      '52:54:00:00:00:0a',
    ]);
    const doubled = { ...fields, machines: [...(fields.machines ?? []), machine('d', '52:54:00:00:00:0a')] };
    await expect(readMachines(doubled, 'rack', log)).rejects.toThrow(
      'provider rack has the mac 52:54:00:00:00:0a for both c and d',
    );
  });

  it.each<readonly [object, string]>([
    [{ machines: [{ name: 'a' }] }, 'machines.0.address'],
    [{ machines: [] }, 'machines'],
    [{ machines: [machine('a')], controllers: {} }, 'controllers.a'],
    [{ controllers: { a: { host: 'h', user: 'u' } } }, 'controllers.a.password'],
    [{ machines: [machine('a', '52:54:00:00:00:01'), machine('b', '52-54-00-00-00-01')] }, 'machines.1.mac'],
    [{ erase: [{ device: 'sda', method: 'nvme' }] }, 'erase.0.device'],
    [{ erase: [{ device: '/dev/sda', method: 'command' }] }, 'erase.0'],
    [{ imaging: { images: '/srv/images' } }, 'imaging.rescue'],
    [
      { imaging: { images: '/i', rescue: '/r', listen: '10.0.0.1:80' }, imager: { load: ['x'] } },
      'imager.load',
    ],
  ])('with %j have a fault at %s', (fields, place) => {
    expect(accountFaults(fields, ipmiSchema).map(({ path }) => path.join('.'))).toContain(place);
  });
});
