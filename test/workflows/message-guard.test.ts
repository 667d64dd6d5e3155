import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { readUpdateName } from '../../src/model/messages/read.js';
import { checkArguments, contractOf, contracts } from '../../src/model/messages/table.js';
import type { Contract } from '../../src/model/contract.js';
import { workflowQueue } from '../../src/model/names.js';
import { until } from '../harness/until.js';
import { attacksOn, malformed, type Attack } from '../harness/workflows/attacks.js';
import {
  countHistory,
  openMessageWorld,
  type MessageWorld,
  type WorkflowType,
} from '../harness/workflows/message-world.js';
import { causeOf, proofs } from '../harness/workflows/proper-messages.js';
import { samples } from '../harness/workflows/sample-messages.js';

const types = Object.keys(contracts) as WorkflowType[];

let world: MessageWorld;
beforeAll(async () => {
  world = await openMessageWorld(inject('temporalAddress'), inject('workflowBundlePath'));
});
afterAll(() => world.stop());

describe('the contracts', () => {
  it.each(types)('accepts the sample of every message of %s', (type) => {
    const { start, updates, signals, queries } = contracts[type] as Contract;
    expect(checkArguments(start, samples[type].start)).toBeUndefined();
    for (const [table, sample] of [
      [updates, samples[type].updates],
      [signals, samples[type].signals],
      [queries, samples[type].queries],
    ] as const) {
      for (const [name, { args }] of Object.entries(table))
        expect(
          checkArguments(args, (sample as Record<string, unknown[]>)[name] ?? ['none']),
          name,
        ).toBeUndefined();
    }
  });
});

describe.each(types.filter((type) => proofs[type] !== undefined))('a running %s workflow', (type) => {
  const messages: Contract = contracts[type];
  const sampleOf = (kind: 'updates' | 'signals' | 'queries', name: string): readonly unknown[] =>
    (samples[type][kind] as Readonly<Record<string, readonly unknown[]>>)[name] ?? [];
  const attacks = (
    kind: 'update' | 'signal' | 'query',
    table: 'updates' | 'signals' | 'queries',
  ): readonly (Attack & { readonly name: string })[] =>
    Object.entries(messages[table]).flatMap(([name, { args: shapes }]) => {
      const sample = sampleOf(table, name);
      return [...attacksOn(kind, name, sample), ...malformed(kind, name, { shapes, sample })].map(
        (attack) => ({ ...attack, name }),
      );
    });
  let before: unknown;

  beforeAll(async () => {
    await world.start(type);
    if (type === 'cluster')
      await until('its operation runs', async () =>
        JSON.stringify(await world.stateOf(type)).includes('"state":"running"'),
      );
    before = await world.stateOf(type);
  });

  // Promise: messages-listed
  it('handles exactly the messages that the table lists', async () => {
    const metadata = await world
      .handle('proper', type)
      .query<{ definition: Record<string, readonly { name: string }[]> }>('__temporal_workflow_metadata');
    const namesOf = (key: string): readonly string[] =>
      (metadata.definition[key] ?? [])
        .map(({ name }) => name)
        .filter((name) => !name.startsWith('__'))
        .toSorted();
    expect({
      updates: namesOf('updateDefinitions'),
      signals: namesOf('signalDefinitions'),
      queries: namesOf('queryDefinitions'),
    }).toEqual({
      updates: [
        ...Object.keys(messages.updates),
        ...(Object.keys(messages.queries).length === 0 ? [] : [readUpdateName]),
      ].toSorted(),
      signals: Object.keys(messages.signals).toSorted(),
      queries: Object.keys(messages.queries).toSorted(),
    });
  });

  // Promise: updates-sealed
  it('rejects every update that was not sealed for it, before the history records it', async () => {
    const { acceptedUpdates } = await countHistory(world.handle('proper', type));
    for (const batch of batches(attacks('update', 'updates'))) {
      await Promise.all(
        batch.map(async ({ name, what, client, args, says }) => {
          const error: unknown = await world
            .handle(client, type)
            .executeUpdate<unknown, [unknown]>(name, { args: args as [unknown] })
            .then(
              () => 'it was accepted',
              (reason: unknown) => reason,
            );
          expect(causeOf(error), `${name}: ${what}`).toMatch(says);
        }),
      );
    }
    expect(await countHistory(world.handle('proper', type))).toMatchObject({
      acceptedUpdates,
      failedTasks: 0,
    });
    expect(await world.stateOf(type)).toEqual(before);
  });

  // Promise: signals-sealed
  it('ignores and logs every signal that was not sealed for it or that it does not have', async () => {
    const sent = [
      ...attacks('signal', 'signals'),
      ...['noSuchSignal', '__temporal_unknown', 'constructor'].map((name) => ({
        name,
        client: 'plain' as const,
        args: [{ by: 'mallory' }],
      })),
    ];
    for (const batch of batches(sent)) {
      await Promise.all(
        batch.map(({ name, client, args }) => world.handle(client, type).signal(name, ...args)),
      );
    }
    expect(await world.stateOf(type)).toEqual(before);
    await world.handle('proper', type).query('__stack_trace');
    const { workflowId } = samples[type];
    await until(
      `${sent.length} signals were ignored`,
      () => world.ignored.filter((id) => id === workflowId).length >= sent.length,
    );
    expect(await countHistory(world.handle('proper', type))).toMatchObject({
      failedTasks: 0,
      signals: sent.length,
    });
  });

  it('answers no query with arguments that was not sealed for it', async () => {
    const withArguments = attacks('query', 'queries').filter(({ args }) => args.length > 0);
    await Promise.all(
      withArguments.map(async ({ name, what, client, args }) => {
        const error: unknown = await world
          .handle(client, type)
          .query(name, ...args)
          .then(
            () => 'it was answered',
            (reason: unknown) => reason,
          );
        // The server passes no more on of the failure of a query.
        expect(error, `${name}: ${what}`).toBeInstanceOf(Error);
      }),
    );
    for (const name of Object.keys(messages.queries))
      expect(
        await world.handle('proper', type).query(name, ...sampleOf('queries', name)),
        name,
      ).toBeDefined();
  });

  it('accepts a valid message afterwards, and no workflow task failed', async () => {
    await proofs[type]?.(world);
    expect((await countHistory(world.handle('proper', type))).failedTasks).toBe(0);
  });
});

// Promise: children-of-parents
describe.each(types)('the start of a %s workflow', (type) => {
  // Promise: starts-sealed
  it('fails the workflow before it does anything when it was not sealed for it', async () => {
    const { start, workflowId } = samples[type];
    const shapes = contractOf(type)?.start ?? [];
    const all = [...attacksOn('start', type, start), ...malformed('start', type, { shapes, sample: start })];
    await Promise.all(
      all.map(async ({ what, client, args, says }, index) => {
        const handle = await world.clients[client].workflow.start(type, {
          workflowId: `${workflowId}-attacked-${index}`,
          taskQueue: workflowQueue,
          args: [...args],
        });
        const error: unknown = await world.clients.unsealed.workflow
          .getHandle(handle.workflowId)
          .result()
          .then(
            () => 'it completed',
            (reason: unknown) => reason,
          );
        expect(causeOf(error), what).toMatch(says);
        const { events } = await handle.fetchHistory();
        const types = (events ?? []).map(({ eventType }) => Number(eventType));
        expect(
          types.filter((type) => !workflowTask.includes(type)),
          what,
        ).toEqual([started, failed]);
      }),
    );
  });
});

/** Event types, as the protocol numbers them. */
const [started, failed] = [1, 3];
/** Scheduled, started, completed, and timed out on a slow machine; not failed. */
const workflowTask: readonly number[] = [5, 6, 7, 8];

/** The server limits how many updates of one workflow may be under way. */
function batches<Entry>(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  return Array.from({ length: Math.ceil(entries.length / 8) }, (_, index) =>
    entries.slice(index * 8, index * 8 + 8),
  );
}
