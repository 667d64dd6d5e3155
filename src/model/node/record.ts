import { serviceActions, type Action, type ServiceAction } from '../action.js';
import { unknownOutcome } from './failure.js';
import type { ServiceHealth } from './health.js';
import type { JsonObject } from '../json.js';
import type { Observation } from './probe.js';
import type { AdoptedMachine, MayRemove, NodeFacts, NodeState, ServiceFacts } from './state.js';
import type { Placement, PlannedPlacement } from './placement.js';
import { mergePayload } from './payload.js';
import { runKey } from './run.js';
import type { Retried } from '../plan/intent/intent.js';
import type { Step } from '../plan/plan.js';

/**
 * Identity of a node's machine for CREATE; a new incarnation is a new machine. It depends on the node alone:
 * after a reset of the workflow, the node finds the machine that it had, in whatever order nodes are created.
 */
export function recordMachine(node: NodeState, planned: PlannedPlacement): NodeState {
  return recordIncarnation(node, planned, usedIncarnation(node) + 1);
}

/** The highest incarnation that this node or an earlier one of its name may have used. */
export function usedIncarnation({
  incarnation,
  incarnationFloor = 0,
}: Pick<NodeState, 'incarnation' | 'incarnationFloor'>): number {
  return Math.max(incarnation, incarnationFloor);
}

function recordIncarnation(node: NodeState, planned: PlannedPlacement, incarnation: number): NodeState {
  const { digest, ...placement } = planned;
  return {
    ...withoutEarlierMachine(node),
    incarnation,
    placement,
    payload: ownKeys(node, placement),
    runs: {},
    facts: { machine: digest, services: {} },
  };
}

/** Records a machine of a previous run of the cluster: it keeps its key. */
export function recordAdopted(
  node: NodeState,
  { keyUid, incarnation, providerid, placement: planned }: AdoptedMachine,
): NodeState {
  const taken = recordIncarnation(node, planned, incarnation);
  return { ...taken, keyUid, adopt: true, payload: { ...taken.payload, providerid } };
}

function withoutEarlierMachine({
  keyUid: _keyUid,
  adopt: _adopt,
  createBegun: _begun,
  absenceConfirmedAt: _confirmed,
  madeAt: _made,
  ...node
}: NodeState): NodeState {
  return withoutChecks(node);
}

/** Records what an operation names for removal; one plan may name several parts of a node. */
export function recordRemoval(
  node: NodeState,
  operation: string,
  { machine, services }: Pick<MayRemove, 'machine' | 'services'>,
): NodeState {
  const before = node.facts.mayRemove?.operation === operation ? node.facts.mayRemove : undefined;
  const isWhole = machine === true || before?.machine === true;
  return withFacts(node, {
    mayRemove: {
      operation,
      ...(isWhole ? { machine: true } : {}),
      services: [...new Set([...(before?.services ?? []), ...services])],
    },
  });
}

/** Heddle's own keys of the payload. */
export function ownKeys(node: NodeState, placement: Placement): JsonObject {
  return {
    hostname: node.hostname,
    flavor: placement.flavor,
    image: placement.image,
    nodenum: node.nodenum,
    group: node.group,
    services: node.services,
  };
}

export function recordBegun(node: NodeState, step: Step): NodeState {
  if (step.action === 'CREATE') {
    const { absenceConfirmedAt: _confirmed, ...begun } = node;
    return { ...begun, createBegun: true };
  }
  if (step.service === undefined) return node;
  const ends = step.action === 'START' || step.action === 'STOP' || step.action === 'REMOVE';
  const known = step.action === 'INITIALIZE' ? withData(node, step.service) : node;
  return withService(ends ? recordHealth(known, step.service, undefined) : known, step.service, {
    begun: step.action,
  });
}

function withData(node: NodeState, service: string): NodeState {
  const { initialized = [] } = node.facts;
  return initialized.includes(service) ? node : withFacts(node, { initialized: [...initialized, service] });
}

/** A CREATE that was begun has made nothing: what was known before it holds again. */
export function recordNothingMade(
  { createBegun: _begun, absenceConfirmedAt: _confirmed, ...node }: NodeState,
  { createBegun, absenceConfirmedAt }: Pick<NodeState, 'createBegun' | 'absenceConfirmedAt'>,
): NodeState {
  return {
    ...node,
    ...(createBegun === undefined ? {} : { createBegun }),
    ...(absenceConfirmedAt === undefined ? {} : { absenceConfirmedAt }),
  };
}

/**
 * A person retries. If the failure asked to look for a machine at the provider first, this
 * confirms that there is none.
 * @param at when, in ms since the epoch by the server's clock; undefined if this is unknown
 */
export function recordRetry({ failure, ...node }: NodeState, at: number | undefined): NodeState {
  const isAsked =
    failure?.kind === unknownOutcome && (failure.action === 'CREATE' || failure.action === 'DELETE');
  // An earlier one is a recorded message that a caller of the server has sent again.
  return isAsked && at !== undefined && at >= Date.parse(failure.at)
    ? { ...node, absenceConfirmedAt: at }
    : node;
}

/** Whether an operation that begins leaves a node out that an earlier one went on without. */
export function isLeftOut(
  { nodeId, failure, excluded, services: own }: NodeState,
  retried: Retried | undefined,
): boolean {
  if (excluded === undefined || failure === undefined) return false;
  if (retried === undefined) return true;
  const { nodes, services } = retried;
  const failed = failure.service === undefined ? own : [failure.service];
  const isService = failed.some((name) => services?.includes(name) === true);
  return nodes?.includes(nodeId) === false || (services !== undefined && !isService);
}

/** Whether a retry of the operation of this uid tries the node again. */
export function isTriedAgain(node: NodeState, operation: string, retried: Retried | undefined): boolean {
  return node.excluded === operation || !isLeftOut(node, retried);
}

/**
 * What failed finds its last run again: a retry that is delivered once more runs nothing for the second time.
 */
export function reopenLastRun(node: NodeState): NodeState {
  const { failure, runs } = node;
  const last = failure === undefined ? undefined : runs[runKey(failure)];
  if (failure === undefined || last === undefined) return node;
  const { over: _over, ...run } = last;
  return { ...node, runs: { ...runs, [runKey(failure)]: run } };
}

/** When a task was done: in which operation, and with which version of the peers. */
export interface Occasion {
  readonly operation: string;
  readonly peers: number;
  /**
   * Of CREATE: when it made the machine, in ms since the epoch; absent if it found the machine, or may have.
   */
  readonly madeAt?: number;
  /** Of STOP: it is the last that is done to take the service off the node. */
  readonly takesOff?: boolean;
}

/** Merges a task's result into the payload, and notes that its action is done. */
export function recordDone(node: NodeState, step: Step, result: JsonObject, occasion: Occasion): NodeState {
  const merged = { ...node, payload: mergePayload(node.payload, result) };
  const { action, service } = step;
  if (service !== undefined && isServiceAction(action))
    return recordServiceAction(merged, service, { action, step, digest: step.digest ?? 'done' }, occasion);
  if (action === 'DELETE') {
    const {
      createBegun: _gone,
      absenceConfirmedAt: _confirmed,
      madeAt: _made,
      ...left
    } = withoutChecks(node);
    return { ...left, payload: {}, runs: {}, facts: { services: {} } };
  }
  if (action === 'CONFIRM') return recordConfirmed(merged);
  if (action === 'BOOTSTRAP') return withFacts(merged, { BOOTSTRAP: step.digest ?? 'done' });
  if (action === 'EXEC') return withFacts(merged, { EXEC: occasion.operation });
  if (action !== 'CREATE') return withFacts(merged, { [action]: true });
  const { adopt: _taken, createBegun: _ended, ...created } = merged;
  return withFacts({ ...created, madeAt: occasion.madeAt }, { CREATE: true });
}

/** The observation is handled; services that ran before a reboot no longer run. */
function recordConfirmed(node: NodeState): NodeState {
  const { seen, ...facts } = node.facts;
  if (seen !== 'rebooted') return { ...node, facts: { ...facts, CONFIRM: true } };
  const services = Object.fromEntries(
    Object.entries(facts.services).map(([name, { START: _ran, begun: _cut, ...rest }]) => [name, rest]),
  );
  return { ...node, facts: { ...facts, CONFIRM: true, services } };
}

interface Done {
  readonly action: ServiceAction;
  readonly step: Step;
  readonly digest: string;
}

function withoutChecks({ health: _health, checkedAt: _checkedAt, ...node }: NodeState): NodeState {
  return node;
}

/** Records that the machine had no drift. Ignores a machine that is not confirmed yet. */
export function recordChecked(node: NodeState, at: string): NodeState {
  return node.facts.CONFIRM === true ? { ...node, checkedAt: at } : node;
}

/** What a check found; undefined when the service does not run, and nothing can be said of it. */
export function recordHealth(
  { health: before = {}, ...node }: NodeState,
  service: string,
  found: ServiceHealth | undefined,
): NodeState {
  const { [service]: _before, ...others } = before;
  const health = found === undefined ? others : { ...others, [service]: found };
  return Object.keys(health).length === 0 ? node : { ...node, health };
}

/**
 * Records an observation, and when it was made (RFC 3339); undefined: the machine is as it should be.
 * A reboot stays recorded until CONFIRM, because a machine that answers may have lost its services.
 */
export function recordObservation(
  before: NodeState,
  observation: Pick<Observation, 'seen' | 'why'> | undefined,
  at: string,
): NodeState {
  const stays = observation === undefined || observation.seen === 'moved';
  if (stays && before.facts.seen === 'rebooted')
    return before.drift === undefined ? before : { ...before, drift: { ...before.drift, at } };
  const {
    facts: { seen: _seen, ...facts },
    drift: _drift,
    ...node
  } = before;
  if (observation === undefined) return recordChecked({ ...node, facts }, at);
  const { seen, why } = observation;
  const { health: _old, ...known } = node;
  return { ...known, facts: { ...facts, seen }, drift: { seen, why, at } };
}

function recordServiceAction(
  node: NodeState,
  service: string,
  { action, step, digest }: Done,
  { operation, peers, takesOff }: Occasion,
): NodeState {
  if (action === 'REMOVE') return withoutService(withoutData(node, service), service);
  if (takesOff === true) return withoutService(node, service);
  const { reloadDue: _due, ...before } = node.facts.services[service] ?? {};
  const replace = (facts: ServiceFacts): NodeState =>
    withFacts(node, { services: { ...node.facts.services, [service]: facts } });
  if (action === 'RELOAD') return replace(before);
  const reload = step.reload === true ? { reloadDue: true as const } : {};
  if (action === 'CONFIGURE' && step.without !== undefined)
    return replace({ ...withoutNodes(before, step.without), ...reload });
  if (action === 'STOP') {
    const { START: _start, begun: _begun, ...rest } = before;
    return replace({ ...rest, doneIn: { ...rest.doneIn, STOP: operation } });
  }
  if (action !== 'CONFIGURE' && action !== 'START') return withService(node, service, { [action]: digest });
  const doneIn = { ...before.doneIn, [action]: operation };
  if (action === 'START') return replace({ ...before, START: digest, doneIn });
  return replace({ ...withoutNodes(before, []), CONFIGURE: digest, doneIn, peers, ...reload });
}

/** What a service on a node was configured without; all else is as it was. */
function withoutNodes({ without: _before, ...facts }: ServiceFacts, nodes: readonly string[]): ServiceFacts {
  return nodes.length === 0 ? facts : { ...facts, without: nodes };
}

function withoutData(node: NodeState, service: string): NodeState {
  const { initialized, ...facts } = node.facts;
  const left = initialized?.filter((name) => name !== service) ?? [];
  return { ...node, facts: left.length === 0 ? facts : { ...facts, initialized: left } };
}

/** The service is gone from the node; its data may remain. */
export function withoutService(node: NodeState, service: string): NodeState {
  const { [service]: _gone, ...services } = node.facts.services;
  return withFacts(node, { services });
}

function withService(node: NodeState, service: string, facts: ServiceFacts): NodeState {
  return withFacts(node, {
    services: { ...node.facts.services, [service]: { ...node.facts.services[service], ...facts } },
  });
}

function withFacts(node: NodeState, facts: Partial<NodeFacts>): NodeState {
  return { ...node, facts: { ...node.facts, ...facts } };
}

function isServiceAction(action: Action): action is ServiceAction {
  return (serviceActions as readonly Action[]).includes(action);
}
