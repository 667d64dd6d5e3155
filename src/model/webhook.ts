import type { ClusterEvent } from './cluster/event.js';
import type { HeddleEvent, Webhook } from './event.js';
import { notificationEvents } from './reservation/state.js';
import type { ReservationEvent } from './reservation/notification.js';

/** What webhooks may subscribe to. */
export const eventTypes = [
  'operation.started',
  'operation.done',
  'operation.held',
  'operation.failed',
  'operation.cancelled',
  'operation.rejected',
  'operation.superseded',
  'node.lost',
  ...notificationEvents.map((event) => `reservation.${event}` as const),
] as const satisfies readonly (ClusterEvent | ReservationEvent)['type'][];

/** Input of the workflow `delivery` and of its activity: one event, to one webhook. */
export interface Delivery {
  readonly webhook: string;
  readonly event: HeddleEvent;
}

/** The end of a delivery. */
export interface DeliveryReply {
  /** HTTP status. */
  readonly status: number;
  readonly attempts: number;
}

/** The webhooks of a configuration as workflows know them. */
export function knownWebhooks(webhooks: Readonly<Record<string, Pick<Webhook, 'events'>>>): {
  readonly webhooks?: readonly Webhook[];
} {
  const known = Object.entries(webhooks).map(([name, { events }]) => ({
    name,
    ...(events === undefined ? {} : { events }),
  }));
  return known.length === 0 ? {} : { webhooks: known };
}

export function subscribers(webhooks: readonly Webhook[], type: string): readonly Webhook[] {
  return webhooks.filter(({ events }) => events === undefined || events.includes(type));
}
