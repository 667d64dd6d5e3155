import type { NodeRef } from '../image/spec.js';
import type { MachineAction } from './actions.js';
import { nodeIntents, type MachineIntent, type NodeIntent } from './intents.js';

export interface NodeMachineInput {
  readonly node: NodeRef;
  readonly intent: NodeIntent;
  readonly by: string;
}

/** For a standalone machine. */
export function isMachineName(name: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?$/.test(name);
}

/**
 * `web/app-1`: a node of a cluster; `pool/ci/small-1`: a node of a pool. Undefined for a standalone machine's
 * name and for a malformed one.
 */
export function parseNodeName(name: string): NodeRef | undefined {
  const parts = name.split('/');
  if (parts.some((part) => !/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(part))) return undefined;
  const [first = '', second = '', third] = parts;
  if (parts.length === 2) return { of: 'cluster', name: first, node: second };
  return parts.length === 3 && first === 'pool' && third !== undefined
    ? { of: 'pool', name: second, node: third }
    : undefined;
}

export function nodeName({ of, name, node }: NodeRef): string {
  return `${of === 'pool' ? 'pool/' : ''}${name}/${node}`;
}

export function isNodeIntent(intent: MachineIntent): intent is NodeIntent {
  return nodeIntents.some((kind) => kind === intent.kind);
}

/** Whether the operation changes nothing, so that it needs no lease of the node. */
export function isReadOnly(intent: NodeIntent): boolean {
  return intent.kind === 'status' || (intent.kind === 'power' && intent.verb === 'status');
}

/** The content of the disk changes. */
export function rewrites(intent: NodeIntent): boolean {
  return intent.kind === 'unload' || (intent.kind === 'load' && intent.only === undefined);
}

/** The action that an intent is about, for messages. */
export function mainAction(intent: NodeIntent): MachineAction {
  switch (intent.kind) {
    case 'status':
      return 'NODE_STATUS';
    case 'power':
      return ({ on: 'POWER_ON', off: 'POWER_OFF', reset: 'POWER_RESET', status: 'POWER_STATUS' } as const)[
        intent.verb
      ];
    case 'load':
      return 'LOAD';
    case 'capture':
      return 'CAPTURE';
    case 'unload':
      return 'UNLOAD';
  }
}
