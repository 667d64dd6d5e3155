import { afterAll, describe, test } from 'vitest';
import { providerSuite, startMachineService, type MachineService } from '../../../src/testing/index.js';
import { until } from '../../harness/until.js';

interface Described {
  readonly state: string;
  readonly address: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly hostKey: string;
}

/** A machine that exists, as heddle.yaml names it. */
async function makeMachine(service: MachineService, name: string) {
  const { id } = (await service.call('POST', '/v1/machines', {
    key: name,
    token: `token-of-${name}`,
    hostname: name,
    flavor: 'tiny',
    image: 'host',
  })) as { readonly id: string };
  const { address, port, user, password, hostKey } = await until(`${name} runs`, async () => {
    const machine = (await service.call('GET', `/v1/machines/${id}`)) as Described;
    return machine.state === 'running' && machine;
  });
  return { name, address, port, user, password, hostKey, flavor: 'tiny', image: 'host' };
}

const noApi =
  'there is no API between: what exists stands in heddle.yaml, and who has it is kept by the engine';

providerSuite(
  { describe, test, afterAll },
  {
    name: 'static',
    machines: ['load'],
    open: async () => {
      const service = await startMachineService();
      const machines = await Promise.all(['one', 'two', 'three'].map((name) => makeMachine(service, name)));
      const programs = { deleted: ['true'], reused: ['true'] };
      return { admin: { machines, programs }, flavor: 'tiny', image: 'host', close: () => service.close() };
    },
    without: {
      'list-pages': 'its machines are in its configuration',
      'lost-create': noApi,
      'half-made': noApi,
      'lost-delete': noApi,
      cancel: noApi,
      garbage: noApi,
      refusals: noApi,
      unreachable: noApi,
      gone: 'its machines stay as they are: DELETE only releases them',
      'load-absent': 'a machine that stands by itself has what it has, so every image is there',
      'load-lost': noApi,
      'image-silent': noApi,
      'wrong-credentials':
        'nobody is asked for credentials before the machine itself is, which is CONFIRM over SSH',
      redaction: 'its credentials are those of the machines: they belong into the payload, as references',
      'missing-fields': 'it needs machines or an inventory, so that neither alone is required',
      'list-apart': 'its machines carry no tags: the engine keeps who has them, for one installation alone',
    },
  },
);
