import {
  defineQuery,
  defineSignal,
  defineUpdate,
  type QueryDefinition,
  type SignalDefinition,
} from '@temporalio/workflow';
import type { UpdateDefinition } from '@temporalio/common';
import { contracts } from '../model/messages/table.js';
import type { ArgumentsOf, Contract, ReplyOf, Row, Rows } from '../model/contract.js';
import type { ClusterEvent } from '../model/cluster/event.js';
import { clusterEventSignalName } from '../model/names.js';

/**
 * The definitions of Temporal for the messages of a contract; names of messages are part of the interface.
 */
export interface Definitions<Of extends Contract> {
  readonly updates: { readonly [Name in keyof Of['updates']]: UpdateOf<Of['updates'][Name]> };
  readonly signals: { readonly [Name in keyof Of['signals']]: SignalOf<Of['signals'][Name]> };
  readonly queries: { readonly [Name in keyof Of['queries']]: QueryOf<Of['queries'][Name]> };
}

type UpdateOf<Of extends Row> = UpdateDefinition<ReplyOf<Of>, ArgumentsOf<Of>>;
type SignalOf<Of extends Row> = SignalDefinition<ArgumentsOf<Of>>;
type QueryOf<Of extends Row> = QueryDefinition<ReplyOf<Of>, ArgumentsOf<Of>>;

function definitionsOf<const Of extends Contract>(contract: Of): Definitions<Of> {
  const named = (rows: Rows, define: (name: string) => unknown): object =>
    Object.fromEntries(Object.keys(rows).map((name) => [name, define(name)]));
  return {
    updates: named(contract.updates, defineUpdate),
    signals: named(contract.signals, defineSignal),
    queries: named(contract.queries, defineQuery),
  } as unknown as Definitions<Of>;
}

export const clusterMessages = definitionsOf(contracts.cluster);
export const groupMessages = definitionsOf(contracts.group);
export const revisionMessages = definitionsOf(contracts.revision);
export const poolMessages = definitionsOf(contracts.pool);
export const machineMessages = definitionsOf(contracts.machine);
export const nodeMachineMessages = definitionsOf(contracts.nodeMachine);
export const imageMessages = definitionsOf(contracts.image);
export const reservationMessages = definitionsOf(contracts.reservations);
export const artifactMessages = definitionsOf(contracts.artifacts);
export const artifactPartMessages = definitionsOf(contracts.artifactPart);
export const lockMessages = definitionsOf(contracts.lock);
export const rateLimiterMessages = definitionsOf(contracts.rateLimiter);
export const claimsMessages = definitionsOf(contracts.claims);

/** To the workflow that started the cluster as its child. */
export const clusterEventSignal = defineSignal<[ClusterEvent]>(clusterEventSignalName);
