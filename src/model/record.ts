import { serviceActions, type Action, type ServiceAction } from './action.js';
import type { JsonObject } from './json.js';
import type { NodeFacts, NodeState, Placement, ServiceFacts } from './node.js';
import { mergePayload } from './payload.js';
import type { PlannedPlacement, Step } from './plan.js';

/** What the machine of a node is asked for with; a new incarnation is a new machine. */
export function recordMachine(node: NodeState, planned: PlannedPlacement, incarnation: number): NodeState {
  const { digest, ...placement } = planned;
  return {
    ...node, incarnation, placement, payload: ownKeys(node, placement), runs: {},
    facts: { machine: digest, services: {} },
  };
}

/** Heddle's own keys of the payload. */
export function ownKeys(node: NodeState, placement: Placement): JsonObject {
  return {
    hostname: node.hostname, flavor: placement.flavor, image: placement.image,
    nodenum: node.nodenum, group: node.group, services: node.services,
  };
}

export function recordBegun(node: NodeState, step: Step): NodeState {
  return step.service === undefined ? node : withService(node, step.service, { begun: step.action });
}

/** Merges a task's result into the payload, and notes that its action is done. */
export function recordDone(node: NodeState, step: Step, result: JsonObject, peers: number): NodeState {
  const merged = { ...node, payload: mergePayload(node.payload, result) };
  const { action, service } = step;
  if (service !== undefined && isServiceAction(action)) return recordServiceAction(merged, service, action, step.digest ?? 'done', peers);
  if (action === 'DELETE') return { ...node, payload: {}, runs: {}, facts: { services: {} } };
  if (action === 'BOOTSTRAP') return { ...merged, facts: { ...merged.facts, BOOTSTRAP: step.digest ?? 'done' } };
  return { ...merged, facts: { ...merged.facts, [action]: true } };
}

function recordServiceAction(node: NodeState, service: string, action: ServiceAction, digest: string, peers: number): NodeState {
  if (action === 'REMOVE') return withoutService(node, service);
  if (action === 'STOP') {
    const { START: _start, begun: _begun, ...rest } = node.facts.services[service] ?? {};
    return withFacts(node, { services: { ...node.facts.services, [service]: rest } });
  }
  return withService(node, service, { [action]: digest, ...(action === 'CONFIGURE' ? { peers } : {}) });
}

/** A service that declares no REMOVE is gone when its STOP is done, or at once. */
export function withoutService(node: NodeState, service: string): NodeState {
  const { [service]: _gone, ...services } = node.facts.services;
  return withFacts(node, { services });
}

function withService(node: NodeState, service: string, facts: ServiceFacts): NodeState {
  return withFacts(node, { services: { ...node.facts.services, [service]: { ...node.facts.services[service], ...facts } } });
}

function withFacts(node: NodeState, facts: Partial<NodeFacts>): NodeState {
  return { ...node, facts: { ...node.facts, ...facts } };
}

function isServiceAction(action: Action): action is ServiceAction {
  return (serviceActions as readonly Action[]).includes(action);
}
