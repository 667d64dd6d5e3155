import { afterAll, describe, test } from 'vitest';
import { providerSuite, startMachineService } from '../../../src/testing/index.js';
import { makeMachines } from '../../support/bmc/racks.js';

const noApi = 'CREATE, CONFIRM and DELETE ask no API: what exists stands in heddle.yaml, and who has it is kept by the engine';

const controllers = {
  ipmi: { host: '127.0.0.1', port: 1, user: 'admin', password: 'secret' },
  redfish: { url: 'http://127.0.0.1:1', user: 'admin', password: 'secret' },
} as const;

// Their controllers are asked for power alone; test/plugins/providers has real ones.
for (const [name, controller] of Object.entries(controllers)) providerSuite({ describe, test, afterAll }, {
  name,
  open: async () => {
    const service = await startMachineService();
    const names = ['one', 'two', 'three'];
    const machines = (await makeMachines(service, names)).map(({ id: _id, ...machine }) => ({ ...machine, flavor: 'tiny' }));
    return { admin: { machines, controllers: Object.fromEntries(names.map((machine) => [machine, controller])) }, flavor: 'tiny', image: 'host', close: () => service.close() };
  },
  without: {
    'lost-create': noApi, 'lost-delete': noApi, 'cancel': noApi, 'garbage': noApi, 'refusals': noApi, 'unreachable': noApi,
    'wrong-credentials': 'nobody is asked for credentials before the machine itself is, which is CONFIRM over SSH',
    'redaction': 'credentials of machines belong into the payload, as references',
    'list-apart': 'its machines carry no tags: the engine keeps who has them, for one installation alone',
  },
});
