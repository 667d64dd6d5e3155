import type { HeddleClient, OperateIntent } from '../../../src/client/heddle-client.js';
import type { TaskName } from './points.js';
import { tiny, type Shape } from './specs.js';

/** Something that a user asks of a cluster, and the tasks that come of it. */
export interface OperationCase {
  readonly name: string;
  /** What was asked before it, and came true. */
  readonly before: readonly Ask[];
  readonly ask: Ask;
  /** All of its tasks; the order is the plan's business. */
  readonly tasks: readonly TaskName[];
  /** What makes the cluster whole after the operation was cancelled; the same ask again unless given. */
  readonly again?: Ask;
  /** Tasks of a tear-down whose failure ends nothing. */
  readonly tolerated?: readonly TaskName[];
}

export type Ask = { readonly apply: Shape } | { readonly operate: OperateIntent } | { readonly remove: true };

/** Asks for it; gives the operation's id. */
export async function askFor(client: HeddleClient, name: string, ask: Ask): Promise<string> {
  if ('apply' in ask) return (await client.apply(tiny(name, ask.apply))).operation;
  if ('operate' in ask) return (await client.operate(name, ask.operate)).operation;
  const { operation } = await client.delete(name);
  if (operation === undefined) throw new Error('no worker took the delete');
  return operation;
}

const created: Ask = { apply: {} };
const two: Ask = { apply: { web: 2 } };

function making(node: string, service: string): readonly TaskName[] {
  return ['CREATE', 'CONFIRM', 'BOOTSTRAP']
    .map((action) => `${node} - ${action}`)
    .concat(['INSTALL', 'CONFIGURE', 'START'].map((action) => `${node} ${service} ${action}`));
}

const downDb: readonly TaskName[] = ['db-1 db STOP', 'db-1 db REMOVE', 'db-1 - DELETE'];

export const operationCases: readonly OperationCase[] = [
  {
    name: 'create',
    before: [],
    ask: created,
    tasks: ['PLAN', ...making('db-1', 'db'), ...making('web-1', 'web')],
  },
  {
    name: 'scale-up',
    before: [created],
    ask: two,
    tasks: ['PROBE_NODES', 'PLAN', ...making('web-2', 'web'), 'web-1 web CONFIGURE'],
  },
  {
    name: 'scale-down',
    before: [two],
    ask: created,
    tasks: ['web-2 web STOP', 'web-2 - DELETE', 'web-1 web CONFIGURE'],
  },
  {
    name: 'configure',
    before: [created],
    ask: { apply: { config: 1 } },
    tasks: ['db-1 db CONFIGURE', 'web-1 web CONFIGURE'],
  },
  {
    name: 'add-service',
    before: [created],
    ask: { apply: { cache: true } },
    tasks: ['db-1 cache INSTALL', 'db-1 cache START', 'web-1 web CONFIGURE'],
  },
  {
    name: 'remove-service',
    before: [{ apply: { cache: true } }],
    ask: created,
    tasks: ['db-1 cache STOP', 'db-1 cache REMOVE', 'web-1 web CONFIGURE'],
  },
  {
    name: 'stop',
    before: [created],
    ask: { operate: { kind: 'stop', services: ['db'] } },
    tasks: ['web-1 web STOP', 'db-1 db STOP'],
  },
  {
    name: 'start',
    before: [created, { operate: { kind: 'stop', services: ['db'] } }],
    ask: { operate: { kind: 'start', services: ['web'] } },
    tasks: ['db-1 db START', 'web-1 web START'],
    again: created,
  },
  {
    name: 'restart',
    before: [created],
    ask: { operate: { kind: 'restart', services: ['db'] } },
    tasks: ['web-1 web STOP', 'db-1 db STOP', 'db-1 db START', 'web-1 web START'],
    again: created,
  },
  {
    name: 'rolling-restart',
    before: [two],
    ask: { operate: { kind: 'restart', services: ['web'], width: 1 } },
    tasks: ['web-1 web STOP', 'web-1 web START', 'web-2 web STOP', 'web-2 web START'],
    again: two,
  },
  {
    name: 'reconfigure',
    before: [created],
    ask: { operate: { kind: 'reconfigure', services: ['web'], restart: true } },
    tasks: ['web-1 web STOP', 'web-1 web CONFIGURE', 'web-1 web START'],
    again: created,
  },
  {
    name: 'replace',
    before: [created],
    ask: { operate: { kind: 'replace', nodes: ['web-1'] } },
    tasks: ['PLAN', 'web-1 web STOP', 'web-1 - DELETE', ...making('web-1', 'web')],
    tolerated: ['web-1 web STOP'],
    again: created,
  },
  {
    name: 'exec',
    before: [created],
    ask: { operate: { kind: 'exec', command: 'true' } },
    tasks: ['db-1 - EXEC', 'web-1 - EXEC'],
  },
  {
    name: 'rollback',
    before: [created, { apply: { config: 1 } }],
    ask: { operate: { kind: 'rollback' } },
    tasks: ['PROBE_NODES', 'PLAN', 'db-1 db CONFIGURE', 'web-1 web CONFIGURE'],
    again: created,
  },
  {
    name: 'delete',
    before: [created],
    ask: { remove: true },
    tasks: ['PLAN', 'web-1 web STOP', 'web-1 - DELETE', ...downDb],
    tolerated: ['web-1 web STOP', 'db-1 db STOP', 'db-1 db REMOVE'],
  },
];
