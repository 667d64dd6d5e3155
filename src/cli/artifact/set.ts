import type { ResourceClient } from '../../client/artifact/artifact-client.js';
import type { ResourceRecord } from '../../model/artifact/state.js';
import type { ServerOptions } from '../configuration.js';
import { verb } from '../verb.js';

export const set = setVerb((resources, name, version: number | null, _options: ServerOptions) =>
  resources.set(name, version),
);

export const rollback = setVerb((resources, name, _options: ServerOptions) => resources.rollBack(name));

function setVerb<Args extends unknown[]>(
  change: (resources: ResourceClient, name: string, ...args: Args) => Promise<ResourceRecord>,
): (name: string, ...args: Args) => Promise<number> {
  return verb<[name: string, ...Args], ResourceRecord>(
    ({ client }, name, ...args) => change(client.resources, name, ...args),
    {
      worker: true,
      document: (record, ...[name]) => ({ name, set: record.set ?? null, before: record.before }),
      print: (output, record, ...[name]) =>
        output.line(
          record.set === undefined
            ? `resource ${name}: no version is set; clusters that use one keep it, and none can begin to`
            : `resource ${name}: version ${record.set} is set; clusters take it with their next apply`,
        ),
    },
  );
}
