import { noEvents, outcomeOf, type ClusterEvent, type ClusterEventType } from '../../model/cluster/event.js';
import { withEvent, withLostNodes } from '../../model/cluster/add-event.js';
import type { Operation, OperationState } from '../../model/cluster/operation.js';
import type { ClusterState } from '../../model/cluster/state.js';
import { startDeliveries } from '../delivery.js';
import { change, now } from '../entity.js';
import { signalIfThere } from '../signal-if-there.js';
import type { Memory } from './memory.js';
import { clusterEventSignal } from '../messages.js';
import { conditionOf } from '../inbox.js';
import { countOperation } from '../metrics.js';

const eventOf: Readonly<Partial<Record<OperationState, ClusterEventType>>> = {
  held: 'operation.held',
  done: 'operation.done',
  failed: 'operation.failed',
  cancelled: 'operation.cancelled',
  rejected: 'operation.rejected',
  superseded: 'operation.superseded',
};

/** Announces that an operation has ended or is held, by its state. */
export function noteOutcome(memory: Memory, operation: Operation): void {
  countOperation(operation);
  noteState(memory, operation);
}

/** Announces the state of an operation that was counted before. */
export function noteState(memory: Memory, operation: Operation): void {
  const type = eventOf[operation.state];
  if (type !== undefined) note(memory, type, operation);
}

/** Announces the start of the operation under way, once. */
export function noteStart(memory: Memory): void {
  const { operation, events = noEvents } = memory.state;
  if (operation === undefined || events.started === operation.uid) return;
  note(memory, 'operation.started', operation);
  if (memory.state.events !== undefined)
    change(memory, { events: { ...memory.state.events, started: operation.uid } });
}

function note(memory: Memory, type: ClusterEventType, operation: Operation): void {
  change(memory, withEvent(memory.state, type, { operation: outcomeOf(operation) }, now()));
}

/** Delivers events in their order, one at a time. */
export async function keepPublishing(memory: Memory): Promise<never> {
  let seen = -1;
  for (;;) {
    await conditionOf('events', () => memory.changes !== seen);
    seen = memory.changes;
    change(memory, withLostNodes(memory.state, now()));
    const [event] = memory.state.events?.waiting ?? [];
    if (event === undefined || memory.closing === true) continue;
    memory.publishing = true;
    await publish(memory.state, event);
    change(memory, withoutEvent(memory.state, event));
    delete memory.publishing;
  }
}

/** Every event has been handed over: the workflow may end. */
export function isPublished({ state }: Memory): boolean {
  return (state.events?.waiting ?? []).length === 0;
}

async function publish({ parent, webhooks = [] }: ClusterState, event: ClusterEvent): Promise<void> {
  // A parent that has ended waits for nothing.
  if (parent !== undefined) await signalIfThere(parent, clusterEventSignal, event);
  if (webhooks.length > 0) await startDeliveries(webhooks, event);
}

function withoutEvent(state: ClusterState, { id }: ClusterEvent): ClusterState {
  const { events = noEvents } = state;
  return { ...state, events: { ...events, waiting: events.waiting.filter((other) => other.id !== id) } };
}
