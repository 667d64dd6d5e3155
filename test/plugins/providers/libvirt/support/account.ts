import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../../../../src/model/json.js';
import type { CreateInput, PluginLog, Task } from '../../../../../src/plugins/contract.js';
import { fieldsOf } from '../../../../harness/plugins/fields.js';
import { LibvirtProvider } from '../../../../../src/plugins/providers/libvirt/libvirt.js';

const silent = (): void => undefined;
const log: PluginLog = { debug: silent, info: silent, warn: silent, error: silent };

/** What the engine asks for one machine. */
export function machine(more: Partial<CreateInput> = {}): CreateInput {
  const key = `${randomUUID()}/app-1/1`;
  return {
    key,
    token: 'unused',
    flavor: '1x64m',
    image: 'base',
    hostname: 'web-app-1',
    fields: {},
    tags: { 'heddle-cluster': 'web & <"co">' },
    ...more,
  };
}

/** A provider as the engine makes one for each attempt. */
export function provider(fields: JsonObject, signal = AbortSignal.timeout(600_000)): LibvirtProvider {
  const task: Task = {
    taskId: 't',
    taskName: 'CREATE',
    clusterId: 'web',
    clusterUid: 'u',
    nodeId: 'app-1',
    incarnation: 1,
    attempt: 1,
    config: {},
    nodes: {},
    cluster: {},
    provider: { name: 'lab', type: 'libvirt', fields },
  };
  return new LibvirtProvider({ task, log, signal, fields: fieldsOf<JsonObject>('libvirt', fields) });
}
