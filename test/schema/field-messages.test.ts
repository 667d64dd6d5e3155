import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/model/json.js';
import { IpmiProvider } from '../../src/plugins/providers/ipmi/ipmi.js';
import { RedfishProvider } from '../../src/plugins/providers/redfish/redfish.js';
import { faultsOfAccount } from '../../src/plugins/providers/service/fields.js';
import { machineFaults } from '../../src/plugins/providers/static/machines.js';
import type { Descriptor } from '../../src/schema/descriptor.js';
import { checkFields } from '../../src/schema/fields.js';
import { formatProblem } from '../../src/schema/problem.js';
import { providerDescriptor } from '../harness/plugins/fields.js';

const rules: Readonly<Record<string, unknown>> = {
  ipmi: IpmiProvider.checkFields,
  redfish: RedfishProvider.checkFields,
  service: faultsOfAccount,
  static: machineFaults,
};

/** Problems of an account, in the order of their places. */
function problems(name: string, values: JsonObject, scope: 'admin' | 'user' = 'admin'): readonly string[] {
  const descriptor = { ...providerDescriptor(name), rules: rules[name] as Descriptor['rules'] };
  return checkFields(descriptor, scope, values, ['fields']).problems.map(formatProblem);
}

const machines = [{ name: 'a', address: '10.0.0.1' }];
const programs = { reach: ['x'], current: ['x'], capture: ['x'], load: ['x'] };

describe('a message about a field', () => {
  it.each<readonly [string, JsonObject, string]>([
    ['docker', { privateKey: ['hunter2'] }, 'fields.privateKey: a list is not text'],
    ['libvirt', { privateKey: { pem: 'hunter2' } }, 'fields.privateKey: a mapping is not text'],
    ['docker', { privateKey: 31_337 }, 'fields.privateKey: (a secret) is not text'],
    [
      'ipmi',
      { machines, controllers: ['hunter2'] },
      'fields.controllers: should be a mapping (keys and values), but is a list',
    ],
    [
      'ipmi',
      { machines, controllers: 'hunter2' },
      'fields.controllers: should be a mapping (keys and values), but is text',
    ],
    ['static', { machines: 'hunter2' }, 'fields.machines: should be a list, but is text'],
    ['static', { machines: { password: 'hunter2' } }, 'fields.machines: should be a list, but is a mapping'],
    [
      'static',
      { machines, programs: { deleted: 'hunter2' } },
      'fields.programs.deleted: should be a list, but is text',
    ],
    [
      'static',
      { machines, programs: { deleted: [['hunter2']] } },
      'fields.programs.deleted[0]: a list is not text',
    ],
    [
      'static',
      { machines, port: { password: 'hunter2' } },
      'fields.port: should be a number, but is a mapping',
    ],
    ['static', { machines, user: ['hunter2'] }, 'fields.user: a list is not one line of text'],
    [
      'static',
      { machines, user: '-----BEGIN PRIVATE KEY-----\nhunter2' },
      'fields.user: (a secret) is not valid',
    ],
    [
      'static',
      { machines: [{ ...machines[0], key: { secret: 'hunter2' } }] },
      'fields.machines[0].key: is not a valid reference',
    ],
    [
      'docker',
      { endpoint: 'ftp://me:hunter2@host' },
      'fields.endpoint: "ftp://(secret)@host" does not match',
    ],
  ])('never quotes a value of %s that may contain a secret: %j', (name, values, said) => {
    const all = problems(name, values).join('\n');
    expect(all).toContain(said);
    expect(all).not.toMatch(/hunter2|31337/);
  });

  it('names a reference where none is accepted', () => {
    expect(problems('docker', { environment: { A: { secret: 'env:A' } } }, 'user')).toEqual([
      expect.stringContaining(
        'fields.environment.A: a reference to a secret is not text, a number, or true or false',
      ),
    ]);
  });

  it.each<readonly [string, JsonObject, readonly string[]]>([
    ['static', { machines: ['a'] }, ['machines[0]: should be a mapping (keys and values), but is text']],
    ['static', { machines: [{ name: 'a' }] }, ['machines[0].address: is missing']],
    [
      'static',
      { machines: [{ ...machines[0], port: 'x' }] },
      ['machines[0].port: should be a number, but is text'],
    ],
    ['static', { machines: [{ ...machines[0], port: 0 }] }, ['machines[0].port: is less than 1']],
    ['static', { machines: [{ ...machines[0], slots: 1_001 }] }, ['machines[0].slots: is more than 1000']],
    ['static', { machines: [{ ...machines[0], user: '' }] }, ['machines[0].user: is empty']],
    [
      'static',
      { machines: [{ ...machines[0], agent: 5 }] },
      ['machines[0].agent: must be text, or a reference'],
    ],
    [
      'static',
      { machines: [{ ...machines[0], hostKey: 5 }] },
      ['machines[0].hostKey: must be a host key, or a list of them'],
    ],
    [
      'static',
      { machines: [{ ...machines[0], adress: 1, prot: 2 }] },
      ['machines[0].adress: is an unknown key', 'machines[0].prot: is an unknown key'],
    ],
    [
      'service',
      { folder: '/x', programs, resources: [{ name: 'a', environment: { HEDDLE_A: 'x', B: null } }] },
      [
        'resources[0].environment.HEDDLE_A: must be the name of an environment variable',
        'resources[0].environment.B: must be text or a number',
      ],
    ],
    [
      'ipmi',
      { machines, controllers: { a: { host: 'h', user: 'u', password: 'p', cipher: 18, retries: 'x' } } },
      ['controllers.a.cipher: is more than 17', 'controllers.a.retries: should be a number, but is text'],
    ],
    [
      'ipmi',
      { machines, controllers: { a: { host: 'h', password: 'p' } } },
      ['controllers.a.user: is missing'],
    ],
    [
      'redfish',
      { machines, controllers: { a: { url: 'x' } } },
      ['controllers.a.url: is not an address such as https://'],
    ],
    [
      'redfish',
      { machines, controllers: { a: { url: 'http://10.0.0.2' } } },
      [
        'controllers.a.url: is an unencrypted address of another machine: use https://, or set `insecure: true`',
      ],
    ],
    [
      'ipmi',
      { inventory: '/x', erase: [{ device: '/dev/sda', method: 'format' }] },
      ['erase[0].method: is not one of blkdiscard, '],
    ],
    [
      'ipmi',
      { inventory: '/x', imaging: { images: '/i' } },
      ['imaging.rescue: is missing', 'imaging.listen: is missing'],
    ],
  ])('of %s names place and kind in the words of the product: %j', (name, values, expected) => {
    expect(problems(name, values)).toEqual(
      expected.map((text) => expect.stringMatching(new RegExp(`^fields\\.${escape(text)}`))),
    );
  });

  it.each([
    ['libvirt', 'uri', 'qemu+tcp://host/system', 'Use qemu+tls:// or qemu+ssh://, or set `insecure: true`.'],
    ['docker', 'endpoint', 'http://host:2375', 'Use https://, or set `insecure: true`.'],
  ])('of %s names the encrypted forms of %s %s', (name, key, address, right) => {
    expect(problems(name, { [key]: address })).toEqual([
      `fields.${key}: is an unencrypted address of another machine. ${right}`,
    ]);
  });
});

function escape(text: string): string {
  return text.replaceAll(/[.[\]()|?*+${}^]/g, String.raw`\$&`);
}
