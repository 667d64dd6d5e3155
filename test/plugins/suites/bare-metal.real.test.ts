import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import type { JsonObject } from '../../../src/model/json.js';
import {
  providerSuite,
  startMachineService,
  type ProviderSuiteOptions,
  type SuiteAccount,
} from '../../../src/testing/index.js';
import { buildRack, makeMachines, noEmulators } from '../../harness/bmc/racks.js';
import { noRedfish, startRedfish } from '../../harness/bmc/redfish.js';
import { newFolder } from '../../harness/folder.js';

const noApi =
  'CREATE, CONFIRM and DELETE ask no API: what exists stands in heddle.yaml, and who has it is kept by the engine';
const noHttp =
  'controllers are asked by programs or over connections of their own; their own tests let them fall silent';

const without: ProviderSuiteOptions['without'] = {
  gone: 'its machines stay as they are: DELETE only releases them',
  'missing-fields': 'it needs machines or an inventory, so that neither alone is required',
  'list-pages': 'its machines are in its configuration',
  'lost-create': noApi,
  'half-made': noApi,
  'lost-delete': noApi,
  cancel: noApi,
  garbage: noApi,
  refusals: noApi,
  unreachable: noApi,
  counted: `${noApi}; their own tests count the calls of their controllers`,
  'wrong-credentials':
    'nobody is asked for credentials before the machine itself is, which is CONFIRM over SSH',
  redaction: 'credentials of machines belong into the payload, as references',
  'list-apart': 'its machines carry no tags: the engine keeps who has them, for one installation alone',
  'power-state': 'find and list ask who has a machine, and no controller: its power is told by power',
  'power-lost': noHttp,
  'load-lost': noHttp,
  'capture-lost': noHttp,
  'capture-cancel': noHttp,
};

const verbs = ['power', 'load', 'capture', 'retrieve'] as const;
const names = ['one', 'two', 'three'];
/** Nobody listens there, and no program knows anything. */
const nobody = (controller: JsonObject): JsonObject => ({
  controllers: Object.fromEntries(names.map((name) => [name, controller])),
  imager: Object.fromEntries(
    ['exists', 'size', 'load', 'capture', 'retrieve'].map((what) => [what, ['sh', '-c', 'exit 7']]),
  ),
});

async function openIpmi(): Promise<SuiteAccount> {
  const service = await startMachineService();
  const folder = newFolder();
  const apiKeyFile = join(folder, 'api-key');
  writeFileSync(apiKeyFile, service.apiKey, { mode: 0o600 });
  const rack = await buildRack({ ...service, apiKeyFile }, folder, names, { shutDownSeconds: 5 });
  const { machines, imager, ...more } = rack.fields as JsonObject & {
    readonly machines: readonly JsonObject[];
    readonly imager: JsonObject;
  };
  return {
    // What is in its library already is had by being there.
    admin: {
      ...more,
      machines: machines.map((machine) => ({ ...machine, flavor: 'tiny' })),
      imager: { ...imager, retrieve: imager['exists'] ?? [] },
    },
    silent: nobody({ host: '127.0.0.1', port: 1, user: 'admin', password: 'secret' }),
    flavor: 'tiny',
    image: 'host',
    close: async () => {
      await rack.stop();
      await service.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

if (noEmulators !== undefined) test.skip(`provider ipmi: ${noEmulators}`);
else
  providerSuite(
    { describe, test, afterAll },
    { name: 'ipmi', machines: verbs, patienceMs: 120_000, open: openIpmi, without },
  );

async function openRedfish(): Promise<SuiteAccount> {
  const service = await startMachineService();
  const redfish = await startRedfish(names.map((name) => ({ name, power: 'On' as const })));
  const machines = (await makeMachines(service, names)).map(({ id: _id, ...machine }) => ({
    ...machine,
    flavor: 'tiny',
  }));
  const controllers = Object.fromEntries(
    names.map((name) => [
      name,
      { url: redfish.url, ca: redfish.ca, user: 'admin', password: 'secret', system: name },
    ]),
  );
  return {
    admin: { machines, controllers, settleSeconds: 60, shutDownSeconds: 0, readEveryMs: 100 },
    silent: nobody({ url: 'http://127.0.0.1:1', user: 'admin', password: 'secret' }),
    flavor: 'tiny',
    image: 'host',
    close: async () => {
      await redfish.stop();
      await service.close();
    },
  };
}

const sameProgram =
  "the emulator's systems are no machines that anything could be written to; the programs are those of ipmi";

if (noRedfish !== undefined) test.skip(`provider redfish: ${noRedfish}`);
else {
  providerSuite(
    { describe, test, afterAll },
    {
      name: 'redfish',
      machines: verbs,
      patienceMs: 120_000,
      open: openRedfish,
      without: {
        ...without,
        load: sameProgram,
        'load-absent': sameProgram,
        capture: sameProgram,
        'capture-target': sameProgram,
        retrieve: sameProgram,
        'image-silent': sameProgram,
      },
    },
  );
}
